"""A partition places every value present in exactly one block, or says in one line why it cannot, showing no value."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.errors import DataNotFoundError, OutputError, PartitionError, UnveilError
from unveil.partitions import Partition
from unveil.partitions.files import write_whole

SECRETS = ("Zorro", "Quixote", "Falstaff", "Ophelia")
INF = float("inf")


def placed(partition: Partition, values: list[Any]) -> list[str | None]:
    """Return the label of each value's block."""
    codes, labels = partition.apply(values, "name")
    assert codes.dtype == np.int64
    return [labels[code] for code in codes]


def said(error: pytest.ExceptionInfo[UnveilError]) -> str:
    """Return the message, having checked that it is one line and shows no value."""
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    assert not [secret for secret in SECRETS if secret.casefold() in message.casefold()]
    return message


class TestBlocks:
    def test_places_values_and_leaves_out_blocks_without_a_value(self) -> None:
        codes, labels = Partition.from_blocks([["a", "b"], ["c"], ["d"]]).apply(["d", "a", "b"], "grade")
        assert codes.tolist() == [1, 0, 0]
        assert labels == ["{a, b}", "{d}"]

    def test_no_values_give_no_blocks(self) -> None:
        codes, labels = Partition.from_blocks([["a"]]).apply([], "grade")
        assert codes.tolist() == []
        assert codes.dtype == np.int64
        assert labels == []

    def test_labels_may_be_given(self) -> None:
        partition = Partition.from_blocks([["a", "b"], ["c"]], labels=["low", 2])
        assert placed(partition, ["c", "b"]) == ["2", "low"]

    def test_long_labels_are_shortened_and_stay_unique(self) -> None:
        blocks = [[f"{'x' * 38}{i}", *range(i * 10, i * 10 + 9)] for i in (1, 2)]
        labels = placed(Partition.from_blocks(blocks), [10, 20])
        assert labels == [f"{{{'x' * 38}1, +9}}", f"{{{'x' * 38}2, +9}}"]
        twins = Partition.from_blocks([["y" * 50 + "1"], ["y" * 50 + "2"], ["y" * 50 + "3"]])
        same = f"{{{'y' * 40}...}}"
        assert placed(twins, [f"{'y' * 50}{i}" for i in (1, 2, 3)]) == [same, f"{same} (2)", f"{same} (3)"]

    def test_a_value_twice_in_one_block_is_one_value(self) -> None:
        assert Partition.from_blocks([["a", "a"], ["b"]]) == Partition.from_blocks([["a"], ["b"]])

    def test_a_set_is_a_block_in_the_order_of_text(self) -> None:
        assert placed(Partition.from_blocks([{"b", "a", "c"}]), ["a"]) == ["{a, b, c}"]

    def test_null_keeps_a_block_of_its_own_at_the_end(self) -> None:
        codes, labels = Partition.from_blocks([["a"], ["b"]]).apply([None, "b", "a"], "grade")
        assert codes.tolist() == [2, 1, 0]
        assert labels == ["{a}", "{b}", None]

    def test_null_may_be_named(self) -> None:
        codes, labels = Partition.from_blocks([["a", None], ["b"]]).apply([None, "b", "a"], "grade")
        assert codes.tolist() == [0, 1, 0]
        assert labels == ["{a, null}", "{b}"]
        assert placed(Partition.from_mapping({"a": "x", None: "none"}), [None, "a"]) == ["none", "x"]

    @pytest.mark.parametrize(
        ("members", "values"),
        [
            (["22", "3.50", "1e3"], [22, 3.5, 1000]),
            ([22, 3.5], ["22", "3.5"]),
            ([22], [np.int64(22)]),
            ([np.float64(2.5)], ["2.5"]),
            (["0.1"], [0.1]),
            ([Decimal("1.10")], [1.1]),
            ([10**20], [10**20]),
            (["nan"], [float("nan")]),
            (["true", "False"], [True, False]),
            ([True, False], ["True", "false"]),
            (["2020-01-31"], [date(2020, 1, 31)]),
            ([date(2020, 1, 31)], ["2020-01-31"]),
            (["2020-01-31 12:30:00"], [datetime(2020, 1, 31, 12, 30, tzinfo=None)]),  # noqa: DTZ001
            ([date(2020, 1, 31)], [datetime(2020, 1, 31)]),  # noqa: DTZ001
        ],
    )
    def test_members_match_across_types(self, members: list[Any], values: list[Any]) -> None:
        codes, labels = Partition.from_blocks([[member] for member in members]).apply(values, "c")
        assert codes.tolist() == list(range(len(values)))
        assert len(labels) == len(values)

    @pytest.mark.parametrize(
        ("member", "value"),
        [("01", "1"), (1, "1.0"), (True, 1), ("x", 1), ("2020-01-32", date(2020, 1, 31)), ("1_0", 10), ("", None)],
    )
    def test_what_is_not_the_same_does_not_match(self, member: Any, value: Any) -> None:
        values = [value, "other"] if value is None else [value]
        with pytest.raises(PartitionError, match="in no block"):
            Partition.from_blocks([[member]]).apply(values, "c")

    def test_text_that_reads_as_one_number_stays_apart_in_a_text_column(self) -> None:
        partition = Partition.from_blocks([["01"], ["1"]])
        assert placed(partition, ["1", "01"]) == ["{1}", "{01}"]
        with pytest.raises(PartitionError, match=r"column 'zip': 1 value is in more than one block"):
            partition.apply([1], "zip")


class TestMapping:
    def test_blocks_stand_in_the_order_of_first_appearance(self) -> None:
        codes, labels = Partition.from_mapping({"b": "z", "a": "y", "c": "z"}).apply(["a", "b", "c"], "g")
        assert labels == ["z", "y"]
        assert codes.tolist() == [1, 0, 0]

    def test_equals_labelled_blocks(self) -> None:
        mapping = Partition.from_mapping({"b": "z", "a": "y", "c": "z"})
        assert mapping == Partition.from_blocks([["c", "b"], ["a"]], labels=["z", "y"])
        assert hash(mapping) == hash(Partition.from_blocks([["c", "b"], ["a"]], labels=["z", "y"]))


class TestEdges:
    def test_intervals_are_half_open(self) -> None:
        partition = Partition.from_edges([-INF, 20, 40, 60, INF])
        values = [-INF, 19.999, 20, 39, 40, 59.9, 60, INF]
        assert placed(partition, values) == [
            *["< 20"] * 2,
            *["[20, 40)"] * 2,
            *["[40, 60)"] * 2,
            *[">= 60"] * 2,
        ]

    def test_text_that_reads_as_a_number_is_placed(self) -> None:
        assert placed(Partition.from_edges([0, 0.5, 1]), [" 0.25", "5e-1", None]) == ["[0, 0.5)", "[0.5, 1)", None]

    def test_decimal_edges_are_exact(self) -> None:
        assert placed(Partition.from_edges([0, 0.1, 0.3]), ["0.1", 0.1, 0.3 - 2**-54]) == ["[0.1, 0.3)"] * 3
        assert placed(Partition.from_edges([0, 2**60 + 1, INF]), [2**60])[0] == f"[0, {2**60 + 1})"

    @pytest.mark.parametrize("edges", [["-inf", 3, "inf"], [-INF, "3", INF], ["-Infinity", 3.0, "+inf"]])
    def test_infinite_edges_may_be_text(self, edges: list[Any]) -> None:
        assert Partition.from_edges(edges) == Partition.of([-INF, 3, INF])
        assert Partition.from_edges(edges).to_dict() == {"edges": ["-inf", 3, "inf"]}

    def test_the_whole_line_is_one_block(self) -> None:
        assert placed(Partition.from_edges(["-inf", "inf"]), [-1, INF, None]) == ["all", "all", None]

    @pytest.mark.parametrize("edges", [["2020-01-01", "2021-01-01", "inf"], [date(2020, 1, 1), date(2021, 1, 1), INF]])
    def test_dates(self, edges: list[Any]) -> None:
        values = [date(2020, 12, 31), "2021-01-01", datetime(2020, 12, 31, 23, 59, tzinfo=UTC)]
        partition = Partition.of(edges)
        assert placed(partition, values) == ["[2020-01-01, 2021-01-01)", ">= 2021-01-01", "[2020-01-01, 2021-01-01)"]
        assert partition.to_dict() == {"edges": ["2020-01-01", "2021-01-01", "inf"]}

    def test_moments_are_shown_with_their_time(self) -> None:
        assert placed(Partition.of(["2020-01-01T08:30", "2020-01-02"]), ["2020-01-01 09:00"]) == [
            "[2020-01-01 08:30:00, 2020-01-02)"
        ]

    @pytest.mark.parametrize(
        ("edges", "problem"),
        [
            ([], "at least two numbers or dates; 0 given"),
            ([1], "at least two numbers or dates; 1 given"),
            ([1, 1], "edge 2 is not above edge 1"),
            (["-inf", 1, 3, 2], "edge 4 is not above edge 3"),
            ([INF, 1], "inf the last"),
            ([1, -INF], "inf the last"),
            ([1, float("nan"), 2], "all numbers or all dates"),
            ([1, "2020-01-01"], "all numbers or all dates"),
            (["Zorro", "Quixote"], "all numbers or all dates"),
            ([True, 2], "all numbers or all dates"),
        ],
    )
    def test_bad_edges(self, edges: list[Any], problem: str) -> None:
        with pytest.raises(PartitionError) as error:
            Partition.from_edges(edges, column="age")
        assert problem in said(error)
        assert said(error).startswith("column 'age': ")

    @pytest.mark.parametrize(
        ("edges", "values", "count", "problem"),
        [
            ([20, 40], [19, 20, 40, 41], "3 of 4", "Hint: begin the edges with -inf and end the edges with inf."),
            (["-inf", 40], [19, 40], "1 of 2", "in no block of the partition. Hint: end the edges with inf."),
            ([20, "inf"], [19, 40, None], "1 of 3", "in no block of the partition. Hint: begin the edges with -inf."),
            (
                [20, 40],
                ["Zorro", "30", float("nan"), True],
                "3 of 4",
                "no number; edges of numbers place numbers only.",
            ),
            ([20, 40], [date(2020, 1, 1)], "1 of 1", "no number; edges of numbers place numbers only."),
            (["2020-01-01", "2021-01-01"], ["Zorro", 2020], "2 of 2", "no date; edges of dates place dates only."),
        ],
    )
    def test_values_that_edges_cannot_place(self, edges: list[Any], values: list[Any], count: str, problem: str) -> None:
        with pytest.raises(PartitionError) as error:
            Partition.from_edges(edges).apply(values, "age")
        assert said(error).startswith(f"column 'age': {count} values present ")
        assert said(error).endswith(problem)


class TestFunction:
    def test_blocks_are_sorted_by_label(self) -> None:
        codes, labels = Partition.from_function(len).apply(["aaa", None, "b", "cc", "d"], "g")
        assert labels == ["1", "2", "3", None]
        assert codes.tolist() == [2, 3, 0, 1, 0]

    def test_no_label_is_no_block(self) -> None:
        with pytest.raises(PartitionError) as error:
            Partition.from_function({"a": "x"}.get).apply(["a", "Zorro", "Quixote"], "g")
        assert said(error) == "column 'g': 2 of 3 values present are in no block of the partition."

    def test_a_function_that_fails_is_reported_without_the_value(self) -> None:
        with pytest.raises(PartitionError) as error:
            Partition.from_function({"a": "x"}.__getitem__).apply(["a", "Zorro"], "g")
        assert said(error) == "column 'g': the partition's function fails on 1 of 2 values present (KeyError)."

    def test_equality_and_provenance(self) -> None:
        assert Partition.from_function(len) == Partition.of(len)
        assert Partition.from_function(len) != Partition.from_function(str)
        assert Partition.from_function(len).to_dict() == {"function": "len"}
        assert repr(Partition.from_function(str.lower)) == "Partition(function str.lower)"


class TestOf:
    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            ([["a"], ["b"]], Partition.from_blocks([["a"], ["b"]])),
            ((("a",), ("b",)), Partition.from_blocks([["a"], ["b"]])),
            ({"blocks": [["a"], ["b"]]}, Partition.from_blocks([["a"], ["b"]])),
            ({"blocks": [["a"]], "labels": ["x"]}, Partition.from_blocks([["a"]], ["x"])),
            ([1, 2, 3], Partition.from_edges([1, 2, 3])),
            (["-inf", 2, "inf"], Partition.from_edges(["-inf", 2, "inf"])),
            (range(0, 100, 10), Partition.from_edges(list(range(0, 100, 10)))),
            (np.array([0.5, 1.5]), Partition.from_edges([0.5, 1.5])),
            ({"edges": [1, 2]}, Partition.from_edges([1, 2])),
            ({"mapping": {"a": "x"}}, Partition.from_mapping({"a": "x"})),
            ({"a": "x", 3: "y"}, Partition.from_mapping({"a": "x", 3: "y"})),
            ({"edges": "border", "mapping": "map"}, Partition.from_mapping({"edges": "border", "mapping": "map"})),
            (len, Partition.from_function(len)),
        ],
    )
    def test_understands(self, spec: Any, expected: Partition) -> None:
        assert Partition.of(spec) == expected
        assert Partition.of(Partition.of(spec)) == expected

    @pytest.mark.parametrize(
        ("spec", "problem"),
        [
            ([], "the partition has no blocks."),
            ({}, "the partition has no blocks."),
            ({"mapping": {}}, "the partition has no blocks."),
            ([["Zorro"], [], ["Quixote"]], "block 2 of 3 is empty"),
            ([["Zorro", 1], ["Zorro", "Quixote"], ["1"]], "2 values are in more than one block"),
            ([["Zorro", None], [None]], "1 value is in more than one block"),
            ({7: "Zorro", "7": "Quixote"}, "1 value is in more than one block"),
            (["Zorro", "Quixote"], "block 1 is not a list of values"),
            ([["Zorro"], "Quixote"], "block 2 is not a list of values"),
            ([["Zorro", ["Quixote"]]], "block 1 holds a list"),
            ([["Zorro", {"Quixote": 1}]], "block 1 holds a list"),
            ("Zorro", "found: str"),
            (7, "found: int"),
            ({"Zorro": None}, "values mapped to no label: 1 of 1"),
            ({"Zorro": ["Quixote"], "Ophelia": "x"}, "values mapped to no label: 1 of 2"),
            ({"blocks": [["Zorro"]], "edges": [1, 2]}, "exactly one of: blocks, edges, mapping"),
            ({"edges": [1, 2], "labels": ["Zorro"]}, "exactly one of: blocks, edges, mapping"),
            ({"labels": ["Zorro"]}, "exactly one of: blocks, edges, mapping"),
            ({"blocks": [["Zorro"], ["Quixote"]], "labels": ["x"]}, "labels given: 1, blocks: 2"),
            ({"blocks": [["Zorro"], ["Quixote"]], "labels": ["x", "x"]}, "labels that repeat another: 1."),
            ({"blocks": [["Zorro"]], "labels": [None]}, "labels that are neither: 1."),
        ],
    )
    def test_refuses(self, spec: Any, problem: str) -> None:
        with pytest.raises(PartitionError) as error:
            Partition.of(spec, column="disease")
        assert said(error).startswith("column 'disease': ")
        assert problem in said(error)
        with pytest.raises(PartitionError) as error:
            Partition.of(spec)
        assert said(error)[:6] != "column"

    def test_uncovered_values_are_counted_not_shown(self) -> None:
        values = ["a", "b", None, "Zorro", "Quixote", "Ophelia"]
        with pytest.raises(PartitionError) as error:
            Partition.of([["a", "b"]]).apply(values, "name")
        assert said(error) == "column 'name': 3 of 6 values present are in no block of the partition."
        with pytest.raises(ValueError, match="in no block"):
            Partition.of([["a", "b"]]).apply(values)

    def test_repr_shows_no_value(self) -> None:
        assert repr(Partition.of([["Zorro"]])) == "Partition(1 block)"
        assert repr(Partition.of([1, 2, 3])) == "Partition(2 intervals)"

    def test_frozen_and_picklable(self) -> None:
        partition = Partition.of([["a"], ["b"]])
        with pytest.raises(AttributeError):
            partition.rule = Partition.of(len).rule  # type: ignore[misc]
        assert pickle.loads(pickle.dumps(partition)) == partition  # noqa: S301

    def test_unequal(self) -> None:
        partition = Partition.of([["a"], ["b"]])
        assert partition != Partition.of([["b"], ["a"]])
        assert partition != Partition.of([["a"], ["c"]])
        assert partition != Partition.of([["a", "b"]])
        assert partition != Partition.from_blocks([["a"], ["b"]], labels=["x", "y"])
        assert partition != Partition.of([1, 2])
        assert Partition.of([1, 2]) != Partition.of([1, 3])
        assert Partition.of([["1"], ["2"]]) == Partition.of([[1], [2]])


class TestRead:
    @pytest.mark.parametrize(
        ("name", "text", "expected"),
        [
            ("p.json", '[["a", null], [3]]', Partition.from_blocks([["a", None], [3]])),
            ("p.json", "[0, 18, 65]", Partition.from_edges([0, 18, 65])),
            ("p.JSON", '\ufeff{"edges": ["-inf", 3, "inf"]}', Partition.from_edges([-INF, 3, INF])),
            ("p.json", '{"mapping": {"a": "x", "b": "x"}}', Partition.from_mapping({"a": "x", "b": "x"})),
            ("p.json", '{"blocks": [["a"]], "labels": ["é😀"]}', Partition.from_blocks([["a"]], ["é😀"])),
            ("p.toml", "edges = [-inf, 3, inf]", Partition.from_edges([-INF, 3, INF])),
            ("p.toml", "blocks = [['a'], [2020-01-31]]", Partition.from_blocks([["a"], ["2020-01-31"]])),
            ("p.toml", "[mapping]\na = 'x'\n'b c' = 1", Partition.from_mapping({"a": "x", "b c": "1"})),
        ],
    )
    def test_reads(self, tmp_path: Path, name: str, text: str, expected: Partition) -> None:
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert Partition.read(tmp_path / name) == expected
        assert Partition.read(str(tmp_path / name), column="c") == expected

    @pytest.mark.parametrize(
        ("name", "text", "problem"),
        [
            ("p.json", '[["Zorro"],\n["Quixote"', ", line 2: this is not JSON: "),
            ("p.json", '{"mapping": {"Zorro": 1, "Zorro": 2}}', "1 key stands more than once in an object"),
            ("p.json", "[" * 100_000, "nested too deeply"),
            ("p.json", '"Zorro"', "a list of blocks, or a table with one of: blocks, edges, mapping"),
            ("p.json", '{"Zorro": "x"}', "exactly one of: blocks, edges, mapping"),
            ("p.json", '{"mapping": [["Zorro"]]}', "mapping is a table"),
            ("p.json", '{"blocks": {"Zorro": 1}}', "blocks, edges and labels are lists"),
            ("p.json", '[["Zorro"], ["Zorro"]]', "1 value is in more than one block"),
            ("p.toml", 'blocks = [["Zorro"],\n[Quixote]]', ", line 2: this is not TOML: "),
            ("p.toml", "mapping = { Zorro = 1, Zorro = 2 }", ", line 1: this is not TOML: Duplicate inline table key."),
            ("p.toml", "[mapping]\nZorro = 1\nZorro = 2\n\n", ", line 3: this is not TOML: "),
            ("p.toml", "edges = [1, 2]\nZorro = 1", "exactly one of: blocks, edges, mapping"),
            ("p.toml", f"edges = [1, {'9' * 5000}]", "this is not TOML: "),
            ("p.txt", "Zorro", "ends in .json or .toml"),
        ],
    )
    def test_refuses(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, problem: str) -> None:
        monkeypatch.chdir(tmp_path)
        Path(name).write_text(text, encoding="utf-8")
        with pytest.raises(PartitionError) as error:
            Partition.read(name)
        assert problem in said(error)
        assert said(error).startswith(name)

    def test_names_the_column(self, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_text("[[]]", encoding="utf-8")
        with pytest.raises(PartitionError, match=r"p\.json: column 'age': block 1 of 1 is empty"):
            Partition.read(tmp_path / "p.json", column="age")

    def test_missing_file_names_the_near_miss(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("disease.json").write_text("[]", encoding="utf-8")
        with pytest.raises(DataNotFoundError, match=r"'desease\.json' is not there\. Hint: did you mean 'disease\.json'"):
            Partition.read("desease.json")
        with pytest.raises(FileNotFoundError, match="is not there"):
            Partition.read(tmp_path / "nowhere" / "p.json")

    def test_not_a_readable_text(self, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_bytes(b'[\n["\xff"]]')
        with pytest.raises(PartitionError, match=r"p\.json, line 2: the text is not UTF-8"):
            Partition.read(tmp_path / "p.json")
        (tmp_path / "folder.json").mkdir()
        with pytest.raises(PartitionError, match=r"folder\.json: the file cannot be read"):
            Partition.read(tmp_path / "folder.json")


class TestWriteWhole:
    def test_replaces_and_leaves_nothing_behind(self, tmp_path: Path) -> None:
        target = tmp_path / "a.txt"
        write_whole(target, "one\r\n")
        target.chmod(0o600)
        write_whole(target, "two\n")
        assert target.read_bytes() == b"two\n"
        assert target.stat().st_mode & 0o777 == 0o600
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]

    def test_a_reader_sees_the_old_text_or_the_new_but_no_mixture(self, tmp_path: Path) -> None:
        target = tmp_path / "a.txt"
        write_whole(target, "one")
        with target.open(encoding="utf-8") as reader:
            write_whole(target, "two")
            assert reader.read() == "one"

    def test_a_failure_keeps_what_was_there(self, tmp_path: Path) -> None:
        target = tmp_path / "a.txt"
        write_whole(target, "one")
        with pytest.raises(OutputError, match="UTF-8 cannot write"):
            write_whole(target, "two \ud800")
        assert target.read_text(encoding="utf-8") == "one"
        assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]

    def test_follows_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "real.txt").write_text("one", encoding="utf-8")
        (tmp_path / "link.txt").symlink_to("real.txt")
        write_whole(tmp_path / "link.txt", "two")
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "real.txt").read_text(encoding="utf-8") == "two"

    @pytest.mark.parametrize("name", ["nowhere/a.txt", "folder"])
    def test_what_cannot_be_written(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "folder").mkdir()
        with pytest.raises(OutputError, match="cannot write"):
            write_whole(tmp_path / name, "one")
        assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


CELLS = st.one_of(
    st.lists(st.text(), unique=True, min_size=1),
    st.lists(st.integers(), unique=True, min_size=1),
    st.lists(st.floats(allow_nan=False), unique=True, min_size=1),
    st.lists(st.booleans(), unique=True, min_size=1),
    st.lists(st.dates(), unique=True, min_size=1),
    st.lists(st.datetimes(), unique=True, min_size=1),
)


@st.composite
def blocks_of_values(draw: st.DrawFn) -> tuple[list[list[Any]], list[Any]]:
    """Give values of one type, and blocks that hold each of them once."""
    values = draw(CELLS)
    cuts = sorted(draw(st.sets(st.integers(1, max(len(values) - 1, 1)))))
    bounds = [0, *[cut for cut in cuts if cut < len(values)], len(values)]
    shuffled = draw(st.permutations(values))
    return [list(shuffled[a:b]) for a, b in pairwise(bounds)], values


@given(blocks_of_values(), st.booleans())
def test_every_value_gets_exactly_the_block_that_holds_it(case: tuple[list[list[Any]], list[Any]], null: bool) -> None:
    blocks, values = case
    present = [*values, None] if null else values
    codes, labels = Partition.from_blocks(blocks, range(len(blocks))).apply(present, "c")
    assert sorted(set(codes.tolist())) == list(range(len(labels)))
    for value, code in zip(values, codes.tolist(), strict=False):
        assert value in blocks[code]
    assert (labels[-1] is None) == null
    assert len(set(labels)) == len(labels) == len(blocks) + null


@given(CELLS)
def test_singletons_give_back_the_values(values: list[Any]) -> None:
    codes, labels = Partition.from_blocks([[value] for value in values]).apply(values, "c")
    assert codes.tolist() == list(range(len(values)))
    assert len(set(labels)) == len(values)


@given(blocks_of_values())
def test_provenance_reads_back_equal(case: tuple[list[list[Any]], list[Any]]) -> None:
    blocks, values = case
    labels = [f"block {i}" for i in range(len(blocks))]
    mapping = {value: label for block, label in zip(blocks, labels, strict=True) for value in block}
    for partition in (
        Partition.from_blocks(blocks),
        Partition.from_blocks(blocks, labels),
        Partition.from_mapping(mapping),
    ):
        back = Partition.from_document(json.loads(json.dumps(partition.to_dict(), allow_nan=False)))
        assert back == partition
        assert placed(back, values) == placed(partition, values)


@given(st.lists(st.floats(allow_nan=False) | st.integers(), min_size=2), st.lists(st.floats(allow_nan=False)))
def test_edges_place_as_comparison_does_and_read_back_equal(edges: list[float], values: list[float]) -> None:
    inner = sorted(set(edges) - {INF, -INF})
    outer = [-INF, *inner, INF]
    partition = Partition.from_edges(outer)
    assert Partition.from_document(json.loads(json.dumps(partition.to_dict(), allow_nan=False))) == partition
    codes, labels = partition.apply(values, "c")
    expected = [sum(edge <= value for edge in inner) for value in values]
    used = sorted(set(expected))
    assert codes.tolist() == [used.index(position) for position in expected]
    assert len(labels) == len(used)


@given(blocks_of_values(), st.data())
def test_a_value_put_into_a_second_block_is_refused(case: tuple[list[list[Any]], list[Any]], data: st.DataObject) -> None:
    blocks, values = case
    twice = data.draw(st.sampled_from(values))
    with pytest.raises(PartitionError, match=r"^1 value is in more than one block"):
        Partition.from_blocks([*blocks, [twice]])


@pytest.mark.parametrize("name", ["a\nb", "a\x85b", "a\u2028b", "a\rb.json"])
def test_a_file_name_of_two_lines_is_refused_in_one(name: str) -> None:
    with pytest.raises(UnveilError) as error:
        Partition.read(name)
    assert len(str(error.value).splitlines()) == 1
