"""A hierarchy is a chain of ever coarser partitions; its file form is ARX's, and comes back as it was written."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import DataNotFoundError, HierarchyError, OutputError, PartitionError, UnveilError
from unveil.partitions import Hierarchy, Partition

SECRETS = ("Zorro", "Quixote", "Falstaff", "Ophelia")
ARX = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "arx-adult"

needs_arx = pytest.mark.skipif(not ARX.is_dir(), reason="ARX's example hierarchies are not beside the repository")


def said(error: pytest.ExceptionInfo[UnveilError]) -> str:
    """Return the message, having checked that it is one line and shows no value."""
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    assert not [secret for secret in SECRETS if secret.casefold() in message.casefold()]
    return message


def cities() -> Hierarchy:
    rows = [["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Lima", "Peru", "America"]]
    return Hierarchy("city", rows)


class TestChain:
    def test_parts(self) -> None:
        assert cities().height == 2
        assert cities().leaves == ("Paris", "Lyon", "Lima")
        assert cities().labels[1] == ("Lyon", "France", "Europe")
        assert repr(cities()) == "Hierarchy('city', 3 leaves, height 2)"

    def test_levels_are_partitions(self) -> None:
        assert cities().level(0) == Partition.from_mapping({name: name for name in cities().leaves})
        assert cities().level(1) == Partition.from_blocks([["Paris", "Lyon"], ["Lima"]], ["France", "Peru"])
        assert cities().level(2) == Partition.from_blocks([["Paris", "Lyon"], ["Lima"]], ["Europe", "America"])

    @pytest.mark.parametrize("number", [-1, 3])
    def test_a_level_that_is_not_there(self, number: int) -> None:
        with pytest.raises(HierarchyError) as error:
            cities().level(number)
        assert said(error) == f"hierarchy of column 'city': there is no level {number}; levels are 0 to 2."

    def test_numbers_match_their_text(self) -> None:
        ages = Hierarchy("age", [[21, "20s"], [22.5, "20s"], [30, "30s"]])
        assert ages.leaves == ("21", "22.5", "30")
        codes, labels = ages.level(1).apply([30, 21.0, None], "age")
        assert codes.tolist() == [1, 0, 2]
        assert labels == ["20s", "30s", None]

    def test_root_is_added_only_where_it_lacks(self) -> None:
        rooted = cities().with_root()
        assert [row[-1] for row in rooted.labels] == ["*"] * 3
        assert rooted.height == 3
        assert rooted.with_root() is rooted
        assert rooted == Hierarchy("city", [[*row, "*"] for row in cities().labels])
        assert Hierarchy(None, [["a", "all"], ["b", "all"]]).with_root().height == 1

    def test_frozen_equal_picklable(self) -> None:
        assert cities() == cities()
        assert hash(cities()) == hash(cities())
        assert cities() != cities().with_root()
        assert pickle.loads(pickle.dumps(cities())) == cities()  # noqa: S301
        with pytest.raises(AttributeError):
            cities().column = "town"  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("rows", "problem"),
        [
            ([], "there are no values in it"),
            ([[]], "rows are not as long"),
            ([["Zorro", "x"], ["Quixote"], ["Ophelia"]], "2 of 3 rows are not as long as the first"),
            ([["Zorro", "x"], ["Zorro", "y"]], "1 of 2 rows repeat a value"),
            ([["Zorro", None], [None, "x"]], "2 labels are null"),
            (
                [["a", "Zorro", "x"], ["b", "Zorro", "y"], ["c", "Quixote", "y"], ["d", "Ophelia", "y"]],
                "at level 1, 1 label leads to more than one label of level 2",
            ),
            (
                [
                    ["a", "k", "Zorro", "x"],
                    ["b", "l", "Zorro", "y"],
                    ["c", "m", "Ophelia", "y"],
                    ["d", "n", "Ophelia", "x"],
                ],
                "at level 2, 2 labels lead to more than one label of level 3 (4 of 4 values); each",
            ),
        ],
    )
    def test_what_is_no_chain(self, rows: list[list[Any]], problem: str) -> None:
        with pytest.raises(HierarchyError) as error:
            Hierarchy("name", rows)
        assert said(error).startswith("hierarchy of column 'name': ")
        assert problem in said(error)
        with pytest.raises(HierarchyError) as error:
            Hierarchy(None, rows)
        assert said(error).startswith("hierarchy: ")


class TestCover:
    def test_covers(self) -> None:
        cities().check_covers(["Lima", None, "Paris"])
        Hierarchy("age", [["21"], ["22"], ["22.50"]]).check_covers([21, 22.0, 22.5, None])
        Hierarchy("age", [[21], [22]]).check_covers(["22"])

    def test_counts_what_is_missing(self) -> None:
        with pytest.raises(HierarchyError) as error:
            cities().check_covers(["Lima", None, "Zorro", "Quixote"])
        assert said(error) == "hierarchy of column 'city': 2 of 4 values present are not in it (level 0)."
        with pytest.raises(HierarchyError, match="1 of 1 values present is not in it"):
            Hierarchy("age", [["21"], ["022"]]).check_covers(["22"])


class TestBuild:
    def test_from_levels(self) -> None:
        built = Hierarchy.from_levels(
            ["Paris", None, "Lyon", "Lima"],
            ["France", "x", "France", "Peru"],
            ("Europe", "y", "Europe", "America"),
            column="city",
        )
        assert built == cities()

    def test_from_levels_needs_a_label_for_each_value(self) -> None:
        with pytest.raises(HierarchyError) as error:
            Hierarchy.from_levels(["Zorro", "Quixote"], ["x", "x"], ["x"], column="name")
        assert said(error) == "hierarchy of column 'name': level 2 has 1 labels for 2 values; it needs one for each."

    def test_from_partitions(self) -> None:
        ages = Hierarchy.from_partitions([22, None, 35, 61], [[0, 30, 60, 90], {"edges": [0, 60, "inf"]}], column="age")
        assert ages.labels == (
            ("22", "[0, 30)", "[0, 60)"),
            ("35", "[30, 60)", "[0, 60)"),
            ("61", "[60, 90)", ">= 60"),
        )

    def test_from_partitions_must_grow_coarser(self) -> None:
        with pytest.raises(HierarchyError) as error:
            Hierarchy.from_partitions([22, 35, 61], [[0, 40, 90], [0, 30, 90]], column="age")
        assert "at level 1, 1 label leads to more than one label of level 2" in said(error)

    def test_from_partitions_must_cover(self) -> None:
        with pytest.raises(PartitionError) as error:
            Hierarchy.from_partitions(["Zorro", "a"], [[["a"]]], column="name")
        assert said(error) == "hierarchy of column 'name': level 1: 1 of 2 values present is in no block of the partition."


class TestFiles:
    @pytest.mark.parametrize("separator", [";", ",", "\t"])
    def test_finds_the_separator(self, tmp_path: Path, separator: str) -> None:
        file = tmp_path / "city.csv"
        text = "\n".join(separator.join(row) for row in cities().labels)
        file.write_text(text, encoding="utf-8")
        assert Hierarchy.read(file) == cities()
        assert Hierarchy.read(str(file), column="city", separator=separator) == cities()

    def test_commas_inside_labels_are_no_separators_beside_semicolons(self, tmp_path: Path) -> None:
        file = tmp_path / "age.csv"
        file.write_text("1;[0, 5);*\n7;[5, 9);*\n", encoding="utf-8")
        assert Hierarchy.read(file).labels == (("1", "[0, 5)", "*"), ("7", "[5, 9)", "*"))

    def test_bom_blank_lines_and_windows_line_ends(self, tmp_path: Path) -> None:
        file = tmp_path / "p.csv"
        file.write_bytes('\ufeffé;x\r\n\r\nb;"y;\r\nz"\r\n'.encode())
        assert Hierarchy.read(file, column="c").labels == (("é", "x"), ("b", "y;\r\nz"))

    def test_any_separator_may_be_named(self, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("a|x\nb|x\n", encoding="utf-8")
        assert Hierarchy.read(tmp_path / "p.csv", separator="|").height == 1
        with pytest.raises(HierarchyError, match="the separator is one character"):
            Hierarchy.read(tmp_path / "p.csv", separator="||")

    def test_the_column_is_named_by_the_file(self, tmp_path: Path) -> None:
        for name in ("age.csv", "adult_hierarchy_age.csv"):
            (tmp_path / name).write_text("1;*\n", encoding="utf-8")
            assert Hierarchy.read(tmp_path / name).column == "age"
            assert Hierarchy.read(tmp_path / name, column="years").column == "years"

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("", "p.csv: hierarchy of column 'p': there are no values in it."),
            ("Zorro;x\nQuixote;y;z\n", "p.csv, line 2: the row has 3 labels where the first has 2."),
            ('Zorro;"x\n\n"\nQuixote\n', "p.csv, line 4: the row has 1 labels where the first has 2."),
            ("Zorro;x\nQuixote;y\n\nZorro;z\n", "p.csv, line 4: the value of this row has one already, in line 1."),
            ('a;x\n"Zorro"Quixote;y\n', "p.csv, line 2: the row is not CSV: "),
            ('a;x\nb;"Zorro\n', "p.csv, line 2: the row is not CSV: "),
            ("a;Zorro;x\nb;Zorro;y\n", "p.csv: hierarchy of column 'p': at level 1, 1 label leads"),
        ],
        ids=range(7),
    )
    def test_refuses(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str) -> None:
        monkeypatch.chdir(tmp_path)
        Path("p.csv").write_text(text, encoding="utf-8")
        with pytest.raises(HierarchyError) as error:
            Hierarchy.read("p.csv")
        assert said(error).startswith(problem)

    def test_missing_file_names_the_near_miss(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("age.csv").touch()
        with pytest.raises(DataNotFoundError, match=r"'agee\.csv' is not there\. Hint: did you mean 'age\.csv'\?"):
            Hierarchy.read("agee.csv")

    def test_not_utf_8(self, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_bytes(b"a;x\n\xe9;x\n")
        with pytest.raises(HierarchyError, match=r"p\.csv, line 2: the text is not UTF-8"):
            Hierarchy.read(tmp_path / "p.csv")

    def test_writes_plainly_and_whole(self, tmp_path: Path) -> None:
        file = tmp_path / "city.csv"
        cities().write(file)
        assert file.read_bytes() == b"Paris;France;Europe\nLyon;France;Europe\nLima;Peru;America\n"
        with pytest.raises(OutputError):
            Hierarchy("city", [["\ud800"]]).write(file)
        assert Hierarchy.read(file) == cities()
        assert [entry.name for entry in tmp_path.iterdir()] == ["city.csv"]

    def test_writes_only_separators_that_are_found_again(self, tmp_path: Path) -> None:
        with pytest.raises(HierarchyError, match="a semicolon, a comma or a tab"):
            cities().write(tmp_path / "p.csv", separator="|")


@needs_arx
class TestArx:
    @pytest.mark.parametrize(
        ("column", "leaves", "height"),
        [
            ("age", 100, 4),
            ("education", 16, 3),
            ("marital-status", 7, 2),
            ("native-country", 41, 2),
            ("occupation", 14, 2),
            ("race", 5, 1),
            ("salary-class", 2, 1),
            ("sex", 2, 1),
            ("workclass", 8, 2),
        ],
    )
    def test_reads_and_writes_back_the_same_bytes(self, tmp_path: Path, column: str, leaves: int, height: int) -> None:
        file = ARX / f"adult_hierarchy_{column}.csv"
        hierarchy = Hierarchy.read(file)
        assert (hierarchy.column, len(hierarchy.leaves), hierarchy.height) == (column, leaves, height)
        assert hierarchy.with_root() is hierarchy
        hierarchy.write(tmp_path / "again.csv")
        original = file.read_bytes().replace(b"\r\n", b"\n")
        assert (tmp_path / "again.csv").read_bytes() == original.rstrip(b"\n") + b"\n"

    def test_ages_are_placed_as_numbers(self) -> None:
        ages = Hierarchy.read(ARX / "adult_hierarchy_age.csv")
        ages.check_covers(range(17, 91))
        codes, labels = ages.level(3).apply(list(range(17, 91)), "age")
        assert labels == ["0-19", "20-39", "40-59", "60-79", "80-99"]
        assert [int((codes == block).sum()) for block in range(5)] == [4, 20, 20, 20, 10]  # that file puts 20 into 0-19


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Give a chain of partitions with labels of any text, each level's label made of the one before."""
    leaves = draw(st.lists(st.text(), unique=True, min_size=1, max_size=8))
    rows = [[leaf] for leaf in leaves]
    for _ in range(draw(st.integers(0, 3))):
        above = {row[-1]: draw(st.text(max_size=4)) for row in rows}
        rows = [[*row, above[row[-1]]] for row in rows]
    return Hierarchy("c", rows)


@given(hierarchies(), st.sampled_from([";", ",", "\t"]))
def test_what_is_written_is_read_back(hierarchy: Hierarchy, separator: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "c.csv"
        hierarchy.write(file, separator=separator)
        assert Hierarchy.read(file, separator=separator) == hierarchy
        hierarchy.write(file)
        assert Hierarchy.read(file) == hierarchy


@given(st.lists(st.sampled_from(['a;"b"', "c,d", "e\nf", "g\r\nh", "i\rj", "\t", "😀", "", " ", '"', "\ufeff"]), min_size=1))
def test_odd_labels_are_read_back(labels: list[str]) -> None:
    hierarchy = Hierarchy.from_levels(list(dict.fromkeys(labels)), list(dict.fromkeys(labels)), column="c")
    with tempfile.TemporaryDirectory() as folder:
        hierarchy.write(Path(folder) / "c.csv")
        assert Hierarchy.read(Path(folder) / "c.csv") == hierarchy


@given(hierarchies())
def test_each_level_is_coarser(hierarchy: Hierarchy) -> None:
    hierarchy.check_covers(hierarchy.leaves)
    below = list(range(len(hierarchy.leaves)))
    for number in range(hierarchy.height + 1):
        codes, labels = hierarchy.level(number).apply(hierarchy.leaves, "c")
        assert [labels[code] for code in codes] == [row[number] for row in hierarchy.labels]
        assert len(set(zip(below, codes.tolist(), strict=True))) == len(set(below))
        below = codes.tolist()
    assert len({row[-1] for row in hierarchy.with_root().labels}) == 1


def test_a_level_of_any_length_is_refused_in_a_line() -> None:
    with pytest.raises(HierarchyError, match="there is no level a number of more than 30 digits"):
        Hierarchy("city", [["a", "*"]]).level(10**40)
