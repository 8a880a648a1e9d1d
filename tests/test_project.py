"""A project file is read whole and checked; what is wrong is said with file, line and key, and shows no value."""

from __future__ import annotations

import tempfile
import tomllib
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.attributes import KINDS, NULLS, ROLES, Kind, Nulls, Role
from unveil.errors import ArgumentError, DataNotFoundError, HierarchyError, OutputError, ProjectError, UnveilError
from unveil.partitions import Partition
from unveil.project import Attribute, DataSection, Project
from unveil.project.toml_text import KeyPath, dotted, lines_of, written, written_key

SECRETS = ("Zorro", "Quixote", "Falstaff", "Ophelia")
FULL = """\
[data]
path = "people.csv"        # relative to the project file
separator = ";"
encoding = "utf-8"
missing = ["?"]
nulls = "drop"
only_roles = true

[attributes.age]
role = "key"
kind = "continuous"
hierarchy = "hierarchies/age.csv"
[attributes.age.partitions]
decades = { edges = [0, 30, 60, inf] }
life = [["22", "32"], ["35"]]
named = { blocks = [["22"], ["32", "35"]], labels = ["young", "old"] }

[attributes.health]
role = "sensitive"
order = ["bad", "fair", "good"]
[attributes."native country"]
[attributes.sex]
role = "key"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder with one hierarchy, and stand in it, so that messages hold no test's name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "age.csv").write_text("22;20s\n32;30s\n35;30s\n", encoding="utf-8")
    return tmp_path


def read(text: str) -> Project:
    Path("unveil.toml").write_text(text, encoding="utf-8")
    return Project.read("unveil.toml")


def said(error: pytest.ExceptionInfo[UnveilError]) -> str:
    """Return the message, having checked that it is one line and shows no value."""
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    assert not [secret for secret in SECRETS if secret.casefold() in message.casefold()]
    return message


class TestRead:
    def test_data(self, folder: Path) -> None:
        assert read(FULL).data == DataSection(Path("people.csv"), ";", "utf-8", ("?",), "drop", True)
        assert Project.read(folder / "unveil.toml").data.path == folder / "people.csv"

    def test_attributes(self, folder: Path) -> None:
        assert folder.is_dir()
        attributes = read(FULL).attributes
        assert list(attributes) == ["age", "health", "native country", "sex"]
        assert attributes["health"] == Attribute("health", "sensitive", "ordinal", ("bad", "fair", "good"))
        assert attributes["native country"] == Attribute("native country")
        assert attributes["age"].hierarchy == Path("hierarchies/age.csv")
        assert attributes["age"].partitions == {
            "decades": Partition.from_edges([0, 30, 60, "inf"]),
            "life": Partition.from_blocks([["22", "32"], ["35"]]),
            "named": Partition.from_blocks([["22"], ["32", "35"]], ["young", "old"]),
        }

    @pytest.mark.usefixtures("folder")
    def test_questions(self) -> None:
        project = read(FULL)
        assert project.names("key") == ("age", "sex")
        assert project.names("identifier") == ()
        assert project.partition("age", "decades") == Partition.of([0, 30, 60, "inf"])
        hierarchy = project.hierarchy("age")
        assert hierarchy is not None
        assert (hierarchy.column, hierarchy.leaves) == ("age", ("22", "32", "35"))
        assert project.hierarchy("sex") is None

    @pytest.mark.usefixtures("folder")
    def test_questions_about_what_is_not_there(self) -> None:
        project = read(FULL)
        with pytest.raises(ArgumentError, match="did you mean 'key'"):
            project.names("keys")  # type: ignore[arg-type]
        with pytest.raises(ProjectError) as error:
            project.partition("agee", "decades")
        assert said(error) == (
            "unveil.toml: attributes: there is no attribute 'agee'; attributes are: age, health, native country, sex."
            " Hint: did you mean 'age'?"
        )
        with pytest.raises(ProjectError) as error:
            project.partition("age", "decade")
        assert said(error) == (
            "unveil.toml: attributes.age.partitions: there is no partition 'decade'; partitions are: decades, life, "
            "named. Hint: did you mean 'decades'?"
        )
        with pytest.raises(ProjectError, match="there are no partitions"):
            project.partition("sex", "x")

    @pytest.mark.usefixtures("folder")
    def test_an_empty_file_is_a_project(self) -> None:
        assert read("") == Project(Path("unveil.toml"))
        assert read("\ufeff# nothing yet\r\n").to_toml() == ""

    @pytest.mark.usefixtures("folder")
    def test_a_broken_hierarchy_is_said_when_it_is_read(self) -> None:
        Path("hierarchies/age.csv").write_text("Zorro;x\nZorro;y", encoding="utf-8")
        with pytest.raises(HierarchyError) as error:
            read(FULL).hierarchy("age")
        assert "line 2" in said(error)

    def test_missing(self, folder: Path) -> None:
        (folder / "unveil.toml").touch()
        with pytest.raises(DataNotFoundError, match=r"'unvail\.toml' is not there\. Hint: did you mean 'unveil\.toml'"):
            Project.read("unvail.toml")


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[data]\npath = ", "line 2: TOML: this is not TOML: Invalid value."),
            ("[data]\npath = Zorro", "line 2: TOML: this is not TOML: Invalid value."),
            ("[data\n", "line 1: TOML: this is not TOML: "),
            ("a = { Zorro = 1, Zorro = 2 }", "line 1: TOML: this is not TOML: Duplicate inline table key."),
            (
                "[dta]\npath = 'x'",
                ("line 1: dta: the section 'dta' is unknown; sections are: data, attributes, "),
            ),
            (
                "[data]\n[attribute.age]",
                ("line 2: attribute: the section 'attribute' is unknown; sections are: data, "),
            ),
            ("\ndata = 'Zorro'", "line 2: data: expected a table, found a text."),
            ("[[data]]\n", "line 1: data: expected a table, found a list."),
            (
                "[data]\npth = 'x'",
                (
                    "line 2: data.pth: the key 'pth' is unknown; keys are: path, separator, encoding, "
                    "missing, text, nulls, only_roles. Hint: did you mean 'path'?"
                ),
            ),
            ("[data]\npath = 3", "line 2: data.path: expected a text, found a whole number."),
            ("[data]\npath = ' '", "line 2: data.path: expected the path of a file, found an empty text."),
            ("data.separator = ';;'", "line 1: data.separator: expected one character."),
            (
                "data = { encoding = 'utf-ate' }",
                ("line 1: data.encoding: this encoding is unknown. Hint: most files are 'utf-8'."),
            ),
            ("[data]\nmissing = 'Zorro'", "line 2: data.missing: expected a list of text, found a text."),
            ("[data]\nmissing = [\n  'Zorro', # x\n  1.5\n]", "line 4: data.missing[2]: expected text, found a number."),
            (
                "[data]\nnulls = 'dropp'",
                ("line 2: data.nulls: nulls 'dropp' is unknown; it is one of: category, drop, error. Hint: did you mean 'drop'?"),
            ),
            ("[data]\nonly_roles = 1", "line 2: data.only_roles: expected true or false, found a whole number."),
            ("[attributes]\nage = 1979-05-27", "line 2: attributes.age: expected a table, found a date or time."),
            (
                "[attributes.age]\nrole = 'quasi'",
                (
                    "line 2: attributes.age.role: role 'quasi' is unknown; it is one of: identifier, key, sensitive, person, household, weight, keep, other."
                ),
            ),
            (
                "[attributes.age]\n\nkind = 'nominl'",
                (
                    "line 3: attributes.age.kind: kind 'nominl' is unknown; it is one "
                    "of: nominal, ordinal, continuous. Hint: did you mean 'nominal'?"
                ),
            ),
            (
                "[attributes.'a b']\nrol = 'key'",
                (
                    "line 2: attributes.\"a b\".rol: the key 'rol' is unknown; keys are: "
                    "role, kind, order, missing, missing_is_sensitive, hierarchy, partitions, reason. Hint: did you mean 'role'?"
                ),
            ),
            (
                "[attributes.age]\norder = [['Zorro']]",
                ("line 2: attributes.age.order[1]: expected text, numbers or dates, found a list."),
            ),
            (
                "[attributes.age]\norder = []",
                ("line 2: attributes.age.order: the order is empty; list the values, lowest first."),
            ),
            (
                "[attributes.age]\norder = ['Zorro', 'x', 'Zorro']",
                ("line 2: attributes.age.order: 1 of 3 values occur more than once; each has one place."),
            ),
            (
                "[attributes.age]\nkind = 'nominal'\norder = ['Zorro']",
                ("line 3: attributes.age.order: only an ordinal attribute has an order, and this one is nominal."),
            ),
            (
                "[attributes.age]\nrole = 'key'\nhierarchy = 'hierarchies/agee.csv'",
                ("line 3: attributes.age.hierarchy: the file 'hierarchies/agee.csv' is not there. Hint: did you mean 'age.csv'?"),
            ),
            ("[attributes.age]\nhierarchy = 'hierarchies'", ("line 2: attributes.age.hierarchy: this is a folder, not a file.")),
            (
                "[attributes.age.partitions]\na = [['x']]\nlife = [\n  ['Zorro'],\n  ['Zorro'],\n]",
                ("line 3: attributes.age.partitions.life: 1 value is in more than one block; a partition's blocks are disjoint."),
            ),
            (
                "[attributes.age.partitions]\nlife = { mapping = { Zorro = ['x'] } }",
                (
                    "line 2: "
                    "attributes.age.partitions.life: a mapping goes from value to label (or holds one of: blocks, edges, "
                    "mapping); values mapped to no label: 1 of 1."
                ),
            ),
            (
                "[attributes.age.partitions.life.mapping]\n[attributes.age.partitions.life.edges]",
                (
                    "line 1: "
                    "attributes.age.partitions.life: a partition's table has exactly one of: blocks, edges, mapping "
                    "(and labels only beside blocks)."
                ),
            ),
            (
                "[attributes.age.partitions]\nlife = 'Zorro'",
                (
                    "line 2: attributes.age.partitions.life: a partition is a "
                    "list of blocks, or a table with one of: blocks, edges, mapping."
                ),
            ),
            (
                "[attributes.age]\npartitions = [['Zorro']]",
                ("line 2: attributes.age.partitions: expected a table, found a list."),
            ),
            (
                "[models]\nk = 5\nk_map = ['5', '6']",
                ("line 3: models.k_map: expected a figure, or text such as '5:0.1'."),
            ),
            (
                "[models]\nl = true",
                ("line 2: models.l: expected a figure, or text such as '0.2:equal:disease', or a list of them."),
            ),
            (
                "attributes.age.partitions.d.edges = [3,\n2]",
                ("line 1: attributes.age.partitions.d: edges must increase, and edge 2 is not above edge 1."),
            ),
        ],
        ids=range(35),
    )
    @pytest.mark.usefixtures("folder")
    def test_line_key_and_problem(self, text: str, message: str) -> None:
        with pytest.raises(ProjectError) as error:
            read(text)
        assert said(error).startswith(f"unveil.toml, {message}")
        with pytest.raises(ProjectError) as error:
            read("# a comment\r\n\r\n" + text.replace("\n", "\r\n"))
        line, _, rest = message.removeprefix("line ").partition(":")
        assert said(error).startswith(f"unveil.toml, line {int(line) + 2}:{rest}")


class TestWrite:
    @pytest.mark.usefixtures("folder")
    def test_reads_back_equal(self) -> None:
        project = read(FULL)
        assert read(project.to_toml()) == project
        project.write()
        assert Project.read("unveil.toml") == project

    def test_keeps_relative_paths_relative(self, folder: Path) -> None:
        (folder / "a").mkdir()
        (folder / "b").mkdir()
        text = "[data]\npath = '../data/x.csv'\n[attributes.age]\nhierarchy = '../hierarchies/age.csv'\n"
        (folder / "a" / "unveil.toml").write_text(text, encoding="utf-8")
        project = Project.read(folder / "a" / "unveil.toml")
        assert tomllib.loads(project.to_toml())["data"]["path"] == "../data/x.csv"
        project.write(folder / "unveil.toml")
        moved = tomllib.loads((folder / "unveil.toml").read_text(encoding="utf-8"))
        assert moved["data"]["path"] == "data/x.csv"
        assert moved["attributes"]["age"]["hierarchy"] == "hierarchies/age.csv"
        project.write(folder / "b" / "unveil.toml")
        assert Project.read(folder / "b" / "unveil.toml").attributes["age"].hierarchy is not None

    @pytest.mark.usefixtures("folder")
    def test_keeps_absolute_paths_absolute(self) -> None:
        project = read("[data]\npath = '/srv/people.csv'\n")
        assert project.to_toml() == '[data]\npath = "/srv/people.csv"\n'
        assert project.to_toml("elsewhere") == '[data]\npath = "/srv/people.csv"\n'

    @pytest.mark.usefixtures("folder")
    def test_what_a_file_cannot_hold(self) -> None:
        for partition, problem in (
            (Partition.of(len), "attributes.a.partitions.p: the partition is a function"),
            (Partition.of([["Zorro", None]]), "attributes.a.partitions.p: a block names the null"),
            (Partition.of({"Zorro": "x", None: "y"}), "attributes.a.partitions.p: a block names the null"),
        ):
            project = Project(Path("unveil.toml"), attributes={"a": Attribute("a", partitions={"p": partition})})
            with pytest.raises(ProjectError) as error:
                project.write()
            assert said(error).startswith(problem)
            assert not Path("unveil.toml").exists()
        with pytest.raises(OutputError, match="cannot write"):
            Project(Path("nowhere/unveil.toml")).write()


def text(**limits: Any) -> st.SearchStrategy[str]:
    return st.text(max_size=8, **limits)


def partitions() -> st.SearchStrategy[Partition]:
    members = st.lists(st.one_of(text(), st.integers(), st.floats(allow_nan=False), st.dates()), min_size=1, unique_by=str)
    singletons = members.map(lambda values: Partition.from_blocks([[value] for value in values]))
    labelled = members.map(lambda values: Partition.from_blocks([[v] for v in values], range(len(values))))
    mapped = st.dictionaries(text(), text(), min_size=1).map(Partition.from_mapping)
    numbers = st.lists(st.integers() | st.floats(allow_nan=False), min_size=2, unique=True).map(sorted)
    return st.one_of(singletons, labelled, mapped, numbers.map(Partition.from_edges))


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    order = draw(st.none() | st.lists(text() | st.integers() | st.dates(), min_size=1, unique_by=str).map(tuple))
    kind: Kind | None = draw(st.none() | st.sampled_from(KINDS)) if order is None else "ordinal"
    role: Role = draw(st.sampled_from(ROLES))
    hierarchy = draw(st.sampled_from([None, "h.csv", "sub/h é.csv"]))
    return Attribute(
        name=name,
        role=role,
        kind=kind,
        order=order,
        hierarchy=None if hierarchy is None else Path(hierarchy),
        partitions=draw(st.dictionaries(text(), partitions(), max_size=3)),
    )


@st.composite
def projects(draw: st.DrawFn) -> Project:
    names = draw(st.lists(text(), unique=True, max_size=4))
    nulls: Nulls = draw(st.sampled_from(NULLS))
    data = DataSection(
        path=draw(st.sampled_from([None, Path("p.csv"), Path("../x y.csv"), Path("/abs/p.csv")])),
        separator=draw(st.none() | st.text(min_size=1, max_size=1)),
        encoding=draw(st.sampled_from([None, "utf-8", "latin-1"])),
        missing=tuple(draw(st.lists(text()))),
        nulls=nulls,
        only_roles=draw(st.booleans()),
    )
    return Project(Path("unveil.toml"), data, {name: draw(attributes(name)) for name in names})


def in_folder(project: Project, folder: Path) -> Project:
    """Return the project as if its file lay in the folder."""
    data = project.data
    return Project(
        folder / project.path,
        DataSection(
            None if data.path is None else folder / data.path,
            data.separator,
            data.encoding,
            data.missing,
            data.nulls,
            data.only_roles,
        ),
        {
            name: Attribute(a.name, a.role, a.kind, a.order, a.hierarchy and folder / a.hierarchy, a.partitions)
            for name, a in project.attributes.items()
        },
    )


@given(projects())
def test_every_project_reads_back_equal(project: Project) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sub").mkdir()
        (folder / "h.csv").touch()
        (folder / "sub" / "h é.csv").touch()
        here = in_folder(project, folder)
        here.write()
        assert Project.read(folder / "unveil.toml") == here


class TestLines:
    def test_every_way_to_write_a_key(self) -> None:
        lines = lines_of(
            "top = 1 # [no.header]\n"
            '[ a . "b c" ]\n'
            "x.'y z' = '''\nnot = a key\n'''\n"
            'list = [\n  1, # one, two\n  [2, "]"],\n  { k = 3 },\n]\n'
            'inline = { p = "}", q.r = [1] }\n'
            '"\\u00e9" = """a\\"""b"""""\n'
            "[[many]]\nn = 1979-05-27 07:32:00\n[many.sub]\n[[many]]\nn = ''\nm = \"\"\n[many.sub]\ns = -inf"
        )
        assert lines == {
            ("top",): 1,
            ("a",): 2,
            ("a", "b c"): 2,
            ("a", "b c", "x"): 3,
            ("a", "b c", "x", "y z"): 3,
            ("a", "b c", "list"): 6,
            ("a", "b c", "list", 0): 7,
            ("a", "b c", "list", 1): 8,
            ("a", "b c", "list", 1, 0): 8,
            ("a", "b c", "list", 1, 1): 8,
            ("a", "b c", "list", 2): 9,
            ("a", "b c", "list", 2, "k"): 9,
            ("a", "b c", "inline"): 11,
            ("a", "b c", "inline", "p"): 11,
            ("a", "b c", "inline", "q"): 11,
            ("a", "b c", "inline", "q", "r"): 11,
            ("a", "b c", "inline", "q", "r", 0): 11,
            ("a", "b c", "é"): 12,
            ("many",): 13,
            ("many", 0): 13,
            ("many", 0, "n"): 14,
            ("many", 0, "sub"): 15,
            ("many", 1): 16,
            ("many", 1, "n"): 17,
            ("many", 1, "m"): 18,
            ("many", 1, "sub"): 19,
            ("many", 1, "sub", "s"): 20,
        }

    def test_a_header_of_its_own_goes_before_one_that_only_implies_the_table(self) -> None:
        assert lines_of("[a.b]\n[a]\n[c.d]") == {("a",): 2, ("a", "b"): 1, ("c",): 3, ("c", "d"): 3}

    def test_keys_as_people_write_them(self) -> None:
        assert dotted(("attributes", "native country", "order", 0)) == 'attributes."native country".order[1]'
        assert dotted(()) == ""
        assert written_key("") == '""'


VALUES = st.recursive(
    st.one_of(
        st.text(),
        st.integers(),
        st.floats(allow_nan=False),
        st.booleans(),
        st.dates(),
        st.datetimes(),
        st.times(),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_values_read_back_and_every_key_has_its_line(document: dict[str, Any]) -> None:
    toml = "\n\n".join(f"{written_key(key)} = {written(value)}" for key, value in document.items())
    assert tomllib.loads(toml) == document
    lines = lines_of(toml)
    assert set(lines) == set(paths(document))
    assert {path: lines[path] for path in lines if len(path) == 1} == {
        (key,): 2 * number + 1 for number, key in enumerate(document)
    }


def paths(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    """Return the path of everything inside a value."""
    inside: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    return [found for key, item in inside for found in [(*path, key), *paths(item, (*path, key))]]


def test_what_toml_cannot_write() -> None:
    assert written([time(1, 2), date(2020, 1, 31), datetime(2020, 1, 31, 1)]) == "[01:02:00, 2020-01-31, 2020-01-31T01:00:00]"  # noqa: DTZ001
    with pytest.raises(TypeError, match="TOML cannot hold a NoneType"):
        written([None])


def test_the_data_may_be_a_table_in_a_database(tmp_path: Path) -> None:
    place = tmp_path / "unveil.toml"
    place.write_text('[data]\npath = "postgresql://host:5433/people?table=census"\n')
    project = Project.read(place)
    assert project.data.path == "postgresql://host:5433/people?table=census"
    (tmp_path / "again.toml").write_text(project.to_toml())
    assert Project.read(tmp_path / "again.toml").data == project.data
