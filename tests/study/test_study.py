"""A study: opened once, counted once for every set of columns, and merged with its project in one place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from helpers import varied
from unveil.counts import count_table
from unveil.errors import ArgumentError, ColumnNotFoundError, UnsupportedDataError
from unveil.sources.opening import FrameSource
from unveil.testing import tables

PEOPLE = pl.DataFrame(
    {
        "age": [21, 24, 35, 38, 35, 21, None, 24],
        "sex": ["f", "m", "f", "m", "f", "f", "m", "m"],
        "ill": ["no", "no", "yes", "yes", "no", None, "yes", "no"],
        "weight": [1.5, 2.0, 1.0, 1.0, 2.5, 1.0, 3.0, 1.0],
    }
)
PROJECT = """
[data]
path = "people.csv"
nulls = "drop"
[attributes.age]
role = "key"
[attributes.sex]
role = "key"
[attributes.ill]
role = "sensitive"
order = ["no", "yes"]
[attributes.ill.partitions]
whether = { blocks = [["yes"], ["no"]] }
[needs.illness]
target = "ill"
given = ["age"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project beside its data."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    place = tmp_path / "unveil.toml"
    place.write_text(PROJECT)
    return place


class Watched(FrameSource):
    """A frame that notes which columns are read."""

    def __init__(self, frame: pl.DataFrame) -> None:
        import narwhals as nw

        super().__init__(nw.from_native(frame))
        self.reads: list[tuple[str, ...]] = []

    def _read(self, columns: Any) -> pl.DataFrame:
        self.reads.append(tuple(columns))
        return super()._read(columns)


def test_a_study_stands_for_its_data_in_every_call() -> None:
    study = unveil.Study(PEOPLE, key=["age", "sex"], sensitive="ill")
    named: dict[str, Any] = {"key": ["age", "sex"], "sensitive": "ill"}
    calls: tuple[Callable[..., Any], ...] = (unveil.discrimination_rate, unveil.measure, unveil.scan, unveil.assess)
    for call in calls:
        assert call(study).to_dict() == call(PEOPLE, **named).to_dict()
    rules = {"k_anonymity": 2}
    assert unveil.check(study, rules).to_dict() == unveil.check(PEOPLE, rules, **named).to_dict()
    need = unveil.Need("illness", target="ill", given="age")
    assert unveil.utility(study, need).to_dict() == unveil.utility(PEOPLE, need).to_dict()
    assert unveil.direct_identifiers(study).to_dict() == unveil.direct_identifiers(PEOPLE).to_dict()
    both = {"original": study, "copy": PEOPLE}
    assert unveil.compare(both).to_dict() == unveil.compare({"original": PEOPLE, "copy": PEOPLE}, **named).to_dict()
    assert unveil.count(study, "sex") == unveil.count(PEOPLE, "sex")


def test_what_a_call_says_goes_before_the_study() -> None:
    study = unveil.Study(PEOPLE, key=["age", "sex"], sensitive="ill", nulls="drop")
    assert unveil.discrimination_rate(study, key="sex", nulls="category").to_dict() == (
        unveil.discrimination_rate(PEOPLE, "sex", "ill").to_dict()
    )
    assert unveil.measure(study, sensitive="sex").made.key == ("age",)
    with pytest.raises(ColumnNotFoundError):
        unveil.measure(study, key="town")


def test_a_question_about_one_sensitive_attribute_does_not_choose_among_several() -> None:
    study = unveil.Study(PEOPLE, key="age", sensitive=["sex", "ill"])
    with pytest.raises(ArgumentError, match="several sensitive attributes"):
        unveil.discrimination_rate(study)
    assert unveil.discrimination_rate(study, sensitive=["sex", "ill"]).made.sensitive == ("sex", "ill")
    assert unveil.discrimination_rate(study.changed(sensitive=())).made.sensitive == ()


def test_every_column_is_read_once() -> None:
    source = Watched(PEOPLE)
    study = unveil.Study(source, key=["age", "sex"], sensitive="ill")
    unveil.assess(study)
    unveil.measure(study)
    unveil.scan(study)
    unveil.check(study, {"k_anonymity": 2, "direct_identifiers": 0})
    read = [name for columns in source.reads for name in columns]
    assert sorted(read) == sorted(PEOPLE.columns)


@given(tables(columns=3, max_rows=20), st.permutations(["a", "b", "c"]), st.integers(1, 3))
def test_a_marginal_is_what_counting_gives(frame: pl.DataFrame, order: list[str], size: int) -> None:
    study = unveil.Study(frame)
    assert study.counts(["a", "b", "c"]) == unveil.count(frame, ["a", "b", "c"])
    assert study.counts(order[:size]) == unveil.count(frame, order[:size])
    assert study.counts(order[:size]).names == tuple(order[:size])


@given(tables(columns=3, max_rows=20), st.booleans())
def test_each_column_is_counted_as_it_is_alone(frame: pl.DataFrame, wide: bool) -> None:
    study = unveil.Study(frame)
    if wide:
        study.counts(["a", "b", "c"])  # what follows is its marginals
    alone = study.each(["c", "a"])
    assert list(alone) == ["c", "a"]
    for name, table in alone.items():
        counts = unveil.count(frame, [name])
        assert [column.name for column in table.columns] == [name]
        assert count_table(table) == counts
        assert table.n is not None
        assert len(table.n) == len(counts)


def test_each_column_leaves_out_what_holds_no_single_values() -> None:
    frame = pl.DataFrame({"age": [1, 2, 2], "seen": [[1], [2, 3], []]})
    study = unveil.Study(frame)
    assert list(study.each(["seen", "age"])) == ["age"]
    with pytest.raises(UnsupportedDataError, match="seen"):
        study.each(["seen", "age"], strict=True)


def test_each_column_refuses_records_of_nobody() -> None:
    study = unveil.Study(pl.DataFrame({"age": [1, 2, 2], "who": ["a", None, "b"]}))
    with pytest.raises(unveil.UnveilError, match="who"):
        study.each(["age"], owners=["who"])


def test_dropped_records_are_those_of_the_columns_named() -> None:
    """A marginal of a table without incomplete records has lost records that the narrower question keeps."""
    study = unveil.Study(PEOPLE, nulls="drop")
    assert study.table(["age", "ill"]).dropped == 2
    assert study.table(["age"]).dropped == 1
    assert study.counts(["sex"]).records == PEOPLE.height


def test_weights_are_marginals_too() -> None:
    study = unveil.Study(PEOPLE, key=["age", "sex"], sensitive="ill", weights="weight")
    unveil.measure(study)
    whole = unveil.discrimination_rate(PEOPLE, "sex", "ill", weights="weight")
    assert unveil.discrimination_rate(study, key="sex").value == whole.value
    assert unveil.discrimination_rate(study.changed(sensitive=()), key="sex").value == (
        unveil.discrimination_rate(PEOPLE, "sex", weights="weight").value
    )


def test_what_does_not_fit_into_the_memory_of_the_run_is_made_again() -> None:
    many = pl.DataFrame({"age": [row % 40_000 for row in range(80_000)], "sex": ["F", "M", "F"] * 26_666 + ["M", "F"]})
    expected = unveil.measure(many, "age", "sex").to_dict()
    for memory, again in ((1 << 20, True), (1 << 30, False)):
        source = Watched(many)
        with unveil.Run(limits=unveil.Limits(memory=memory)):
            study = unveil.Study(source, key="age", sensitive="sex")
            assert unveil.measure(study).to_dict() == unveil.measure(study).to_dict() == expected
        assert (len(source.reads) > 1) is again


@settings(max_examples=20)
@given(tables(columns=3, max_rows=20), tables(columns=3, max_rows=20))
def test_added_counts_are_measured_as_the_whole(one: pl.DataFrame, other: pl.DataFrame) -> None:
    names, both = ["a", "b", "c"], pl.concat([one, other])
    added = unveil.count(one, names) + unveil.count(other, names)
    found, expected = (unveil.measure(data, ["a", "b"], "c", suppressed="class").to_dict() for data in (added, both))
    assert found == expected
    if varied(both, "c"):
        rates = (unveil.discrimination_rate(data, "a", "c").to_dict() for data in (added, both))
        assert next(rates) == next(rates)
    assert unveil.scan(added, names).to_dict() == unveil.scan(both, names).to_dict()


def test_counts_have_no_records() -> None:
    counts = unveil.count(PEOPLE, ["age", "sex", "ill"])
    study = unveil.Study(counts, key="age", sensitive="ill")
    assert unveil.measure(study).to_dict() == unveil.measure(PEOPLE, "age", "ill").to_dict()
    with pytest.raises(UnsupportedDataError, match="no records"):
        study.collected(["age"])


def test_a_project_gives_what_is_not_named(project: Path) -> None:
    study = unveil.Study.of(project)
    assert (study.key, study.sensitive, study.nulls) == (("age", "sex"), ("ill",), "drop")
    assert study.orders == {"ill": ("no", "yes")}
    assert study.views["whether"]["ill"].to_dict() == unveil.Partition.of([["yes"], ["no"]]).to_dict()
    assert unveil.Study.of(project, key="ill", nulls="category").sensitive == ()
    assert unveil.Study(PEOPLE, project=project).key == ("age", "sex")


def test_every_call_takes_a_project_file(project: Path) -> None:
    study = unveil.Study.of(project)
    calls: tuple[Callable[..., Any], ...] = (
        unveil.discrimination_rate,
        unveil.measure,
        unveil.scan,
        unveil.assess,
        unveil.utility,
    )
    for call in calls:
        assert call(str(project)).to_dict() == call(study).to_dict()
    assert unveil.utility(study).needs.keys() == {"illness"}
    assert unveil.check(unveil.Study.of(project), {"k_anonymity": 2}).made.key == ("age", "sex")
    assert unveil.count(project, "sex") == unveil.count(project.parent / "people.csv", "sex")


def test_a_release_may_lack_columns_of_the_project(project: Path) -> None:
    with pytest.raises(ColumnNotFoundError):
        unveil.Study(PEOPLE.drop("age"), project=project)
    assert unveil.Study(PEOPLE.drop("age"), project=project, partial=True).key == ("sex",)
    assert unveil.check(PEOPLE.drop("age"), {"k_anonymity": 2}, project=unveil.Project.read(project)).made.key == ("sex",)


def test_two_projects_are_one_too_many(project: Path) -> None:
    with pytest.raises(ArgumentError, match="two projects"):
        unveil.assess(project, project=unveil.Project.read(project))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"nulls": "guess"}, "nulls"),
        ({"kinds": {"age": "odd"}}, "kind"),
        ({"kinds": {"town": "nominal"}}, "town"),
        ({"key": "town"}, "town"),
        ({"weights": "town"}, "town"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(unveil.UnveilError, match=said):
        unveil.Study(PEOPLE, **arguments)


def test_a_study_is_frozen_and_shows_itself() -> None:
    study = unveil.Study(PEOPLE, key="age", sensitive="ill", identifiers="sex")
    assert repr(study) == "Study(the data frame: 8 records; key age; sensitive ill; identifiers sex)"
    with pytest.raises(AttributeError):
        study.nulls = "drop"  # type: ignore[misc]


def test_the_facts_of_a_study_follow_from_what_it_states(project: Path) -> None:
    study = unveil.Study.of(project, nulls="wildcard", person="weight")
    assert (study.key, study.sensitive, study.person, study.names) == (("age", "sex"), ("ill",), "weight", tuple(PEOPLE.columns))
    assert (study.nulls, study.policy, study.standing.person) == ("wildcard", "category", "weight")
    other = study.changed(key="sex", nulls="drop")
    assert (other.key, other.roles.key, other.policy, other.standing.named) == (
        ("sex",),
        ("sex",),
        "drop",
        frozenset({"sex", "ill"}),
    )
    assert study.changed() is study
    assert study.changed(key=None) is study


def test_partitions_of_a_study_are_read_everywhere() -> None:
    blocks = {"age": [0, 30, 100]}
    people = PEOPLE.drop_nulls()
    study = unveil.Study(people, key="age", sensitive="ill", partitions=blocks)
    expected = unveil.discrimination_rate(people, "age", "ill", partitions=blocks)
    assert unveil.discrimination_rate(study).to_dict() == expected.to_dict()
    assert unveil.measure(study).to_dict() == unveil.measure(people, "age", "ill", partitions=blocks).to_dict()
    assert unveil.discrimination_rate(study, key="sex").made.partitions == {}


def test_a_pair_stands_for_both_tables() -> None:
    release = PEOPLE.with_columns(age=pl.col("age") // 10 * 10)
    pair = unveil.Pair(PEOPLE, release, ["age", "sex"], "ill", same_order=True)
    said: dict[str, Any] = {"key": ["age", "sex"], "sensitive": "ill", "same_order": True}
    assert unveil.attack(pair).to_dict() == unveil.attack(PEOPLE, release, **said).to_dict()
    assert unveil.loss(pair).to_dict() == unveil.loss(PEOPLE, release, key=["age", "sex"], same_order=True).to_dict()
    with pytest.raises(ArgumentError, match="a Pair is given"):
        unveil.attack(pair, release)
    with pytest.raises(ArgumentError, match="no release is given"):
        unveil.attack(PEOPLE)
    assert repr(pair).startswith("Pair(the data frame -> the data frame: age, sex; 8 of 8 records aligned")


def test_a_pair_takes_its_roles_from_its_studies(project: Path) -> None:
    original = unveil.Study.of(project, nulls="category")
    pair = unveil.Pair(original, unveil.Study(PEOPLE), id=None, same_order=True)
    assert (pair.keys, pair.sensitive) == (("age", "sex"), ("ill",))


@settings(max_examples=10)
@given(st.permutations(list(range(PEOPLE.height))))
def test_aligned_values_are_those_of_the_same_people(order: list[int]) -> None:
    release = PEOPLE.with_row_index("id")[order]
    by_id = unveil.Pair(PEOPLE.with_row_index("id"), release, "age", "ill", id="id")
    in_order = unveil.Pair(PEOPLE, PEOPLE, "age", "ill", same_order=True)
    figures = [unveil.attack(pair, link_records=False).identity["white_box"]["risk"] for pair in (by_id, in_order)]
    assert figures[0] == pytest.approx(figures[1], abs=1e-12)


def test_only_the_columns_needed_are_read() -> None:
    original, release = Watched(PEOPLE), Watched(PEOPLE)
    unveil.attack(original, release, "age", "ill", same_order=True)
    for source in (original, release):
        assert "weight" not in {name for columns in source.reads for name in columns}


def test_a_wide_table_is_assessed_with_what_was_left_out_said() -> None:
    draws = np.random.default_rng(0)
    frame = pl.DataFrame({f"v{at:03}": draws.integers(0, 2 + at % 9, 60) for at in range(300)})
    found = unveil.assess(frame)
    assert found.combinations.max_size == found.to_dict()["settings"]["max_size"] < frame.width
    assert any("left out" in note or "says most" in note for note in found.view().notes) or found.to_dict()["settings"]
    assert len(found.attributes) == frame.width


def test_what_is_left_without_an_attribute_is_what_counting_gives() -> None:
    draws = np.random.default_rng(0)
    frame = pl.DataFrame({f"v{at}": draws.integers(0, 2 + at, 60) for at in range(5)})
    for left in unveil.assess(frame, list(frame.columns)).without:
        sizes = unveil.count(frame, [name for name in frame.columns if name != left.name]).n
        assert (left.uniques, left.k, left.average_risk) == (int((sizes == 1).sum()), int(sizes.min()), len(sizes) / 60)


class TestRoles:
    """Persons, households, weights and columns that the user vouches for, from arguments and from a project."""

    @pytest.fixture
    def planned(self, tmp_path: Path) -> Path:
        frame = PEOPLE.with_columns(pl.Series("who", range(8)), pl.Series("home", [1, 1, 2, 2, 3, 3, 4, 4]))
        frame.write_csv(tmp_path / "people.csv")
        roles = {"age": "key", "who": "person", "home": "household", "weight": "weight", "sex": "keep"}
        lines = ["[data]", 'path = "people.csv"', "only_roles = true"]
        lines += [line for name, role in roles.items() for line in (f"[attributes.{name}]", f'role = "{role}"')]
        place = tmp_path / "unveil.toml"
        place.write_text("\n".join(lines))
        return place

    def test_a_project_says_them(self, planned: Path) -> None:
        roles = unveil.Study.of(planned).roles
        assert (roles.person, roles.household, roles.weights, roles.keep) == ("who", "home", "weight", ("sex",))
        assert roles.only_roles
        assert roles.named == {"age", "who", "home", "weight", "sex"}

    def test_arguments_win(self, planned: Path) -> None:
        study = unveil.Study.of(planned, person="home", keep="age", only_roles=False)
        assert (study.person, study.household, study.key) == ("home", None, ("age",))
        assert (study.keep, study.only_roles) == (("age",), False)

    def test_a_release_may_lack_them(self, planned: Path) -> None:
        study = unveil.Study(PEOPLE, project=planned, partial=True)
        assert (study.person, study.household, study.weights) == (None, None, "weight")
        with pytest.raises(ColumnNotFoundError):
            unveil.Study(PEOPLE, project=planned)

    def test_keep_goes_with_other_roles(self) -> None:
        study = unveil.Study(PEOPLE, key="age", person="sex", keep=["sex", "ill"])
        assert (study.person, study.keep) == ("sex", ("sex", "ill"))
        assert study.changed(key="ill").keep == ("sex",)

    def test_one_column_has_one_part(self) -> None:
        with pytest.raises(ArgumentError, match="named as key and as person"):
            unveil.Study(PEOPLE, key="age", person="age")
        with pytest.raises(ColumnNotFoundError):
            unveil.Study(PEOPLE, household="flat")

    def test_a_project_has_one_person(self, planned: Path) -> None:
        planned.write_text(planned.read_text().replace('"household"', '"person"'))
        with pytest.raises(ArgumentError, match="several columns are named as person"):
            unveil.Study.of(planned)


def test_a_call_on_one_table_says_that_a_pair_holds_two() -> None:
    pair = unveil.Pair(PEOPLE, PEOPLE, "age", "ill", same_order=True)
    for call in (unveil.measure, unveil.scan, unveil.assess):
        with pytest.raises(UnsupportedDataError, match="a Pair holds two tables, and this call takes one at a time"):
            call(pair)


def test_nulls_among_numbers_are_said_to_have_no_rank() -> None:
    with pytest.raises(ArgumentError, match="'age' holds nulls, which have no rank among numbers"):
        unveil.measure(PEOPLE, "sex", "age", models=[unveil.models.TCloseness("age", 0.3, "value")])
