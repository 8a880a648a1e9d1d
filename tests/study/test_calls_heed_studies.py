"""What a study says holds in protections, mechanisms, pairs and losses: nulls, hierarchies, orders, kinds, weights, persons."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import Step, mechanisms
from unveil.attacks.linkage.lines import LinkedAttribute
from unveil.cli import run
from unveil.errors import ArgumentError, NullsError
from unveil.models import KAnonymity

N = 120
GRADES = ["low", "mid", "high", "top"]
PEOPLE = pl.DataFrame(
    {
        "id": [f"r{at}" for at in range(N)],
        "pid": [at // 2 for at in range(N)],
        "home": [at // 4 for at in range(N)],
        "place": [at // 40 for at in range(N)],
        "age": [20 + at % 6 for at in range(N)],
        "sex": ["f" if at % 2 else "m" if at % 12 else None for at in range(N)],
        "grade": [GRADES[at * 7 % 4] for at in range(N)],
        "ill": ["flu" if at % 3 else "cold" for at in range(N)],
        "items": ["tea;milk" if at % 2 else "tea" for at in range(N)],
        "w": [1.0 + at % 3 for at in range(N)],
    }
)
WHOLE = PEOPLE.drop_nulls().height
AGES = unveil.Hierarchy.from_levels([20, 21, 22, 23, 24, 25], ["low"] * 3 + ["high"] * 3, ["*"] * 6)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project beside its data, with whatever a project can say of values."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    AGES.write(tmp_path / "age.csv")
    (tmp_path / "unveil.toml").write_text(
        """
        [data]
        path = "people.csv"
        nulls = "drop"
        [attributes]
        id.role = "identifier"
        w.role = "weight"
        age = { role = "key", hierarchy = "age.csv" }
        sex.role = "key"
        grade = { kind = "ordinal", order = ["low", "mid", "high", "top"] }
        ill = { role = "sensitive", order = ["cold", "flu"] }
        """,
        encoding="utf-8",
    )
    return tmp_path / "unveil.toml"


def test_a_protection_uses_the_hierarchies_orders_nulls_and_population_of_a_study(project: Path) -> None:
    for data in (project, unveil.Study.of(project)):
        alone = unveil.anonymize(data, ["age", "sex"], [KAnonymity(15)])
        for before in ([], [Step("sample", (), {"share": 1.0})]):
            made = unveil.protect(data, [*before, Step("generalize", ["age", "sex"], {"k": 15})])
            assert set(made.data["age"]) == set(alone.data["age"]) == {"low", "high"}
            assert made.data.height == alone.data.height == WHOLE
        assert PEOPLE["sex"][made.origin.tolist()].null_count() == 0
        assert unveil.protect(data, [Step("generalize", ["age"], {"k": 2, "t": "0.9:rank:ill"})]).data.height == N
        assert unveil.protect(data, [Step("rank_swap", ["grade"]), Step("swap", ["sex"])]).data.height == WHOLE
        again: dict[str, Any] = {"seed": 1, "keep_order": True}
        ranked = mechanisms.rank_swap(data, "grade", **again).data["grade"]
        assert unveil.protect(data, [Step("rank_swap", ["grade"], again)]).data["grade"].equals(ranked)
        kept = unveil.protect(data, [Step("swap", ["sex"], {"nulls": "keep"})])
        assert kept.data.height == N
    known = unveil.Study(PEOPLE.head(60), population=PEOPLE)
    assert unveil.protect(known, [Step("generalize", ["age"], {"k_map": 20})]).data["age"].n_unique() == 6


def test_two_steps_of_a_project_heed_what_one_heeds(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = '[protect.one]\nmechanism = "generalize"\nattributes = ["age", "sex"]\nk = 15\n'
    sample = '[protect.two]\nmechanism = "sample"\nshare = 1.0\n'
    plan, ages = project.read_text(encoding="utf-8"), []
    for more in ("", sample):
        project.write_text(f"{plan}\n{steps}{more}", encoding="utf-8")
        out = project.with_name("release.csv")
        assert run(["anonymize", "--project", str(project), "--out", str(out)]) == 0
        ages.append((pl.read_csv(out).height, sorted(set(pl.read_csv(out)["age"]))))
        out.unlink()
    assert ages == [(WHOLE, ["high", "low"])] * 2
    capsys.readouterr()


def test_a_step_after_synthesis_counts_records_because_synthetic_ones_are_nobodys() -> None:
    study = unveil.Study(PEOPLE, person="pid", nulls="drop")
    made = unveil.protect(study, [Step("synthesize", ["age", "ill"]), Step("generalize", ["age"], {"k": 2})])
    assert made.data.columns == ["age", "ill"]


def test_protections_are_composed_for_persons_and_by_what_a_study_says() -> None:
    need = unveil.Need("illness", target="ill", given="sex")
    candidates = [Step("generalize", ["age", "sex"], {"k": 25})]
    study = unveil.Study(PEOPLE, person="pid", nulls="drop", hierarchies={"age": AGES})
    found = unveil.compose(study, ["age", "sex"], need, sensitive="ill", candidates=candidates)
    release = found.chosen
    assert "pid" not in release.data.columns
    assert release.left_out["pid"] == "says whose record it is"
    assert release.data.height == WHOLE
    assert PEOPLE["sex"][release.origin.tolist()].null_count() == 0
    assert set(release.data["age"]) <= {"low", "high", "*"}
    people = release.data.with_columns(pid=pl.Series(PEOPLE["pid"][release.origin.tolist()]))
    assert min(people.group_by("age", "sex").agg(pl.col("pid").n_unique())["pid"]) >= 25
    with pytest.raises(ArgumentError, match="named as identifier and as person"):
        unveil.compose(study, ["age"], need, sensitive="ill", identifiers="pid")
    with pytest.raises(NullsError):
        unveil.compose(study.changed(nulls="error"), ["age", "sex"], need, sensitive="ill", candidates=candidates)


def test_mechanisms_take_the_orders_and_kinds_of_a_study() -> None:
    orders = {"grade": GRADES}
    study = unveil.Study(PEOPLE, orders=orders | {"ill": ["cold", "flu"]}, kinds={"age": "ordinal"})
    again: dict[str, Any] = {"seed": 1, "keep_order": True}
    for call in (mechanisms.rank_swap, mechanisms.shuffle, mechanisms.microaggregate):
        expected = call(PEOPLE, "grade", orders=orders, **again)
        assert call(study, "grade", **again).data.equals(expected.data)
    assert mechanisms.shuffle(study, "age", given="grade", **again).settings["given"] == ["grade"]
    assert mechanisms.microaggregate(study, "age").settings["aggregate"] == {"age": "median"}
    assert mechanisms.microaggregate(study, "age", kinds={"age": "continuous"}).settings["aggregate"] == {"age": "mean"}
    assert mechanisms.microaggregate(study, "grade", within="ill").settings["aggregate"] == {"grade": "median"}
    backwards = {"grade": GRADES[::-1]}
    expected = mechanisms.rank_swap(PEOPLE, "grade", orders=backwards, **again)
    assert mechanisms.rank_swap(study, "grade", orders=backwards, **again).data.equals(expected.data)
    with pytest.raises(ArgumentError, match="order"):
        mechanisms.microaggregate(unveil.Study(PEOPLE, kinds={"grade": "ordinal"}), "grade")


HOLES = PEOPLE.with_columns(
    pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise(pl.col(name)).alias(name) for name in ("age", "sex", "items")
)
BOUNDS = (0.0, 100.0)
SEXES = {"sex": ["f", "m"]}
MECHANISMS: dict[str, Callable[[Any], Any]] = {
    "add_noise": lambda data: mechanisms.add_noise(data, "age", amount=0.1),
    "microaggregate": lambda data: mechanisms.microaggregate(data, "age"),
    "rank_swap": lambda data: mechanisms.rank_swap(data, "age"),
    "resample": lambda data: mechanisms.resample(data, "age"),
    "round_values": lambda data: mechanisms.round_values(data, "age", base=2.0),
    "shuffle": lambda data: mechanisms.shuffle(data, "age"),
    "swap": lambda data: mechanisms.swap(data, "sex"),
    "top_bottom_code": lambda data: mechanisms.top_bottom_code(data, "age", top=40),
    "pram": lambda data: mechanisms.pram(data, "sex", retention=0.8),
    "anatomize": lambda data: mechanisms.anatomize(data, "sex", "grade", l=2),
    "generalize_sets": lambda data: mechanisms.generalize_sets(data, "items", k=2),
    "redact_text": lambda data: mechanisms.redact_text(data, "items"),
    "pseudonymize": lambda data: mechanisms.pseudonymize(data, "sex", method="counter"),
    "synthesize": lambda data: mechanisms.synthesize(data, ["sex", "age"]),
    "massc": lambda data: mechanisms.massc(data, ["sex", "age"], risk=0.4),
    "dp_sum": lambda data: mechanisms.dp_sum(data, "age", bounds=BOUNDS, epsilon=1.0),
    "dp_mean": lambda data: mechanisms.dp_mean(data, "age", bounds=BOUNDS, epsilon=1.0),
    "dp_histogram": lambda data: mechanisms.dp_histogram(data, "sex", values=["f", "m"], epsilon=1.0),
    "dp_marginals": lambda data: mechanisms.dp_marginals(data, ["sex"], domains=SEXES, epsilon=1.0),
    "dp_synthesize": lambda data: mechanisms.dp_synthesize(data, ["sex"], domains=SEXES, epsilon=1.0),
    "safepub": lambda data: mechanisms.safepub(data, ["sex"], epsilon=1.0, delta=1e-3),
    "dp_microaggregate": lambda data: mechanisms.dp_microaggregate(data, "age", bounds={"age": BOUNDS}, epsilon=1.0, k=10),
}


def test_every_mechanism_that_deals_with_nulls_is_looked_at() -> None:
    dealing = {name for name in mechanisms.names() if "nulls" in inspect.signature(getattr(mechanisms, name)).parameters}
    assert dealing == set(MECHANISMS)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_drops_the_nulls_that_a_study_drops(name: str) -> None:
    study, call = unveil.Study(HOLES, nulls="drop"), MECHANISMS[name]
    assert call(study).settings["nulls"] == "drop"
    with pytest.raises(NullsError):
        call(study.changed(nulls="error"))
    if name == "redact_text":
        assert call(unveil.Study(HOLES)).settings["nulls"] == "keep"
        return
    with pytest.raises(NullsError):  # a study that takes a null as a value leaves it to the mechanism
        call(unveil.Study(HOLES))


def test_what_a_call_says_of_nulls_takes_precedence_over_a_study() -> None:
    study = unveil.Study(HOLES, nulls="drop")
    assert mechanisms.swap(study, "sex").data.height < mechanisms.swap(study, "sex", nulls="keep").data.height == N
    with pytest.raises(NullsError):
        mechanisms.swap(study, "sex", nulls="error")


def test_mechanisms_take_the_weights_households_and_hierarchies_of_a_study() -> None:
    weighted = mechanisms.massc(unveil.Study(PEOPLE, weights="w"), ["age", "grade"], risk=0.4)
    assert weighted.settings["weights"] == "w"
    assert "weight" not in weighted.data.columns
    assert float(weighted.data["w"].sum()) == pytest.approx(float(PEOPLE["w"].sum()))
    homes = mechanisms.swap_households(unveil.Study(PEOPLE, household="home"), "place", share=0.0)
    assert homes.settings["household"] == "home"
    drinks = unveil.Hierarchy.from_levels(["tea", "milk"], ["drink", "drink"])
    for hierarchies, expected in (({}, False), ({"items": drinks}, True)):
        made = mechanisms.generalize_sets(unveil.Study(PEOPLE, hierarchies=hierarchies), "items", k=2)
        assert made.settings["hierarchy"] is expected


def test_a_mechanism_of_ones_own_takes_what_a_study_says() -> None:
    from unveil.mechanisms import _OWN, register

    @register
    def told(data: Any, attributes: list[str], orders: Any = None, nulls: str = "error") -> tuple[Any, str]:  # noqa: ARG001
        return orders, nulls

    try:
        study = unveil.Study(PEOPLE, orders={"grade": GRADES}, nulls="drop")
        assert told(study, ["grade"]) == ({"grade": GRADES}, "drop")
        assert told(study, ["grade"], {"grade": GRADES[::-1]}, "keep") == ({"grade": GRADES[::-1]}, "keep")
        assert told(PEOPLE, ["grade"]) == (None, "error")
    finally:
        del _OWN["told"]


def test_a_pair_takes_the_null_policy_of_its_original() -> None:
    options: dict[str, Any] = {"key": ["age", "sex"], "sensitive": "ill", "same_order": True, "link_records": False}
    expected = unveil.attack(PEOPLE, PEOPLE, nulls="drop", **options)
    for one, other in (
        (unveil.Study(PEOPLE, nulls="drop"), PEOPLE),
        (PEOPLE, unveil.Study(PEOPLE, nulls="drop")),
        (unveil.Study(PEOPLE, nulls="drop"), unveil.Study(PEOPLE)),
    ):
        found = unveil.attack(one, other, **options)
        assert found.made.records == expected.made.records == WHOLE
        assert found.overall == expected.overall
        pair = unveil.Pair(one, other, key=["age", "sex"], sensitive="ill", same_order=True)
        assert (pair.nulls, pair.original.nulls, pair.release.nulls) == ("drop",) * 3
    assert unveil.attack(unveil.Study(PEOPLE, nulls="drop"), PEOPLE, nulls="category", **options).made.records == N
    with pytest.raises(NullsError):
        unveil.attack(unveil.Study(PEOPLE, nulls="error"), PEOPLE, **options)
    with pytest.raises(ArgumentError, match=r"nulls='drop'.*nulls='error'"):
        unveil.Pair(unveil.Study(PEOPLE, nulls="drop"), unveil.Study(PEOPLE, nulls="error"), same_order=True)


def test_an_original_that_overrides_its_project_does_so_for_the_release(project: Path) -> None:
    options: dict[str, Any] = {"same_order": True, "link_records": False}
    assert unveil.attack(project, PEOPLE, **options).made.records == WHOLE
    assert unveil.attack(unveil.Study.of(project, nulls="category"), PEOPLE, **options).made.records == N


ROLES = unveil.Study(PEOPLE, sensitive="ill", weights="w", identifiers="id", person="pid", household="home")
PLAIN = ["place", "age", "sex", "grade", "items"]


def test_no_identifier_weight_person_or_household_is_a_key_or_feature_unless_it_is_named() -> None:
    other = PEOPLE.with_columns(sex=pl.lit("f"))
    assert list(unveil.scan(ROLES, max_size=1).made.key) == PLAIN
    for one, two in ((ROLES, other), (PEOPLE, unveil.Study(other, sensitive="ill", weights="w", identifiers="id", person="pid"))):
        assert set(unveil.Pair(one, two, same_order=True).keys) - {"home"} == set(PLAIN)
    assert unveil.Pair(ROLES, other, ["w", "age"], same_order=True).keys == ("w", "age")
    found = unveil.loss(ROLES, other, same_order=True, pmse=True, tasks="ill")
    compared = {*found.continuous.attributes, *found.categorical.attributes}
    assert compared == set(found.made.key) == {*PLAIN, "ill"}
    assert found.pmse is not None
    assert found.tasks is not None
    assert set(found.pmse["given"]) == compared
    assert set(found.tasks["ill"]["read"]) == set(PLAIN)
    assert set(unveil.pmse(ROLES, other).given) == compared
    task = unveil.Task("illness", "ill")
    assert set(unveil.tasks(ROLES, other, task, same_order=True).tasks["illness"].read or ()) == set(PLAIN)
    named = unveil.loss(ROLES, other, same_order=True, continuous="w", mapping={"home": "home"})
    assert {"w", "home"} <= {*named.continuous.attributes, *named.categorical.attributes}
    assert unveil.pmse(ROLES, other, "w").given == ("w",)


def releases() -> tuple[pl.DataFrame, dict[str, Any]]:
    """A release of coarse ages and shifted grades, and how it is to be read."""
    ages = pl.col("age").replace_strict({age: "low" if age < 23 else "high" for age in range(20, 26)})
    moved = pl.col("grade").replace_strict(dict(zip(GRADES, [*GRADES[1:], GRADES[0]], strict=True)))
    return PEOPLE.with_columns(ages, moved), {"hierarchies": {"age": AGES}, "orders": {"grade": GRADES}}


def test_a_loss_reads_values_as_a_study_a_pair_or_a_project_says(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release, read = releases()
    columns = ["age", "grade", "sex"]
    original, release = PEOPLE.drop_nulls().select(columns), release.filter(PEOPLE["sex"].is_not_null()).select(columns)
    expected = unveil.loss(original, release, same_order=True, **read).categorical.attributes
    assert expected["age"]["precision"] == 0.5
    assert expected["grade"]["ordinal"] > 0.0
    for found in (
        unveil.loss(unveil.Study(original, **read), release, same_order=True),
        unveil.loss(original, unveil.Study(release, **read), same_order=True),
        unveil.loss(unveil.Pair(unveil.Study(original, **read), release, same_order=True)),
    ):
        assert found.categorical.attributes == expected
    by_pair = unveil.loss(unveil.Pair(original, release, same_order=True, hierarchies=read["hierarchies"]))
    assert by_pair.categorical.attributes["age"] == expected["age"]

    coarse = releases()[0]
    coarse.write_csv(project.with_name("coarse.csv"))
    whole = unveil.loss(project, coarse, same_order=True).to_dict()
    assert run(["loss", str(project.with_name("people.csv")), str(project.with_name("coarse.csv")),
                "--project", str(project), "--same-order", "--json"]) == 0  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads(json.dumps(whole))
    assert told["categorical"]["attributes"]["age"]["precision"] == 0.5
    assert told["categorical"]["attributes"]["grade"]["ordinal"] > 0.0
    assert (told["records"], told["made"]["nulls"], told["made"]["dropped"]) == (WHOLE, "drop", N - WHOLE)


def test_kinds_decide_how_a_loss_reads_numbers_and_what_the_call_says_takes_precedence() -> None:
    other = PEOPLE.with_columns(pl.col("age") + 1)
    words = unveil.loss(unveil.Study(PEOPLE, kinds={"age": "nominal"}), other, same_order=True)
    assert "age" in words.categorical.attributes
    assert "age" not in words.continuous.attributes
    study = unveil.Study(PEOPLE, kinds={"age": "continuous"}, hierarchies={"age": AGES})
    numbers = unveil.loss(study, other, same_order=True)
    assert "age" in numbers.continuous.attributes
    assert "age" not in numbers.categorical.attributes
    coarse = unveil.loss(study, releases()[0], same_order=True)
    assert coarse.categorical.attributes["age"]["precision"] == 0.5
    assert not coarse.failed
    assert "age" in unveil.loss(study, other, same_order=True, categorical="age").categorical.attributes
    assert "age" in unveil.loss(words_study(), other, same_order=True, continuous="age").continuous.attributes


def test_a_loss_compares_nulls_that_match_anything_elsewhere() -> None:
    original = pl.DataFrame({"a": ["u", "v", None, "u"], "b": [1, 2, 3, 4]})
    study, other = unveil.Study(original, nulls="wildcard"), original.with_columns(a=pl.lit("u"))
    loss, plain = (unveil.loss(one, other, same_order=True, key=["a", "b"]) for one in (study, original))
    assert loss.to_dict() == plain.to_dict()


def test_linkage_takes_kinds_and_orders_of_a_study_together() -> None:
    table, tree = pl.DataFrame({"a": list("uvwx")}), unveil.Hierarchy("a", [(value, "*") for value in "uvwx"])
    named = unveil.Study(table, kinds={"a": "nominal"}, orders={"a": list("uvwx")})
    attributes = [LinkedAttribute("a", hierarchy=tree)]
    with pytest.raises(ArgumentError, match="these are nominal: a"):
        unveil.attacks.distance_linkage(named, table, range(4), attributes=attributes)
    ranked = named.changed(kinds={"a": "ordinal"})
    assert unveil.attacks.distance_linkage(ranked, table, range(4), attributes=attributes).value == 1.0


def words_study() -> unveil.Study:
    """A study whose ages are names."""
    return unveil.Study(PEOPLE, kinds={"age": "nominal"})


@pytest.mark.parametrize("way", ["id", "link", "same_order"])
def test_a_loss_leaves_out_the_original_records_with_a_null_that_a_study_drops(way: str, tmp_path: Path) -> None:
    kept = PEOPLE["sex"].is_not_null()
    release = PEOPLE.with_columns(sex=pl.when(pl.col("pid") == 1).then(None).otherwise(pl.col("sex")), age=pl.col("age") + 1)
    link = tmp_path / "link.csv"
    pl.DataFrame({"original": range(1, N + 1), "release": range(1, N + 1)}).write_csv(link)
    ways: dict[str, dict[str, Any]] = {"id": {"id": "id"}, "link": {"link": link}, "same_order": {"same_order": True}}
    known = ways[way]
    plain = {} if way == "link" else known
    more: dict[str, Any] = {"pmse": True, "tasks": "ill"}
    expected = unveil.loss(PEOPLE.filter(kept), release.filter(kept), **(plain or {"same_order": True}), **more).to_dict()
    pair = unveil.Pair(PEOPLE, release, key=["age", "sex"], sensitive="ill", nulls="drop", **known)
    for found in (unveil.loss(unveil.Study(PEOPLE, nulls="drop"), release, **known, **more), unveil.loss(pair, **more)):
        answer = found.to_dict()
        for part in ("continuous", "categorical", "suppressed", "pmse", "tasks", "records"):
            assert answer[part] == expected[part], part
        assert answer["made"]["dropped"] == N - WHOLE
        assert answer["suppressed"]["by_attribute"]["sex"] == 2
        assert any("null left out" in note for note in found.view().notes)
    with pytest.raises(NullsError, match="nulls='error'"):
        unveil.loss(unveil.Pair(PEOPLE, release, key="age", nulls="error", **known))
