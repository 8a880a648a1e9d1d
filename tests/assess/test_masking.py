"""Reports that disclose nobody: the rule of masking against a slow oracle, and against readers who subtract."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.measures.by_value import disclosing, telling_values
from unveil.models import DistinctLDiversity, KAnonymity, TCloseness
from unveil.protect.chain import Chain
from unveil.report import page, write
from unveil.results.masking import SMALL, masked_values
from unveil.testing import tables


def gives_away(secrets: Sequence[Any], everyone: Sequence[Any]) -> bool:
    """Whether a class discloses, from the words of the rule."""
    whole = Counter(everyone)
    for value, n in Counter(secrets).items():
        share, before = n / len(secrets), whole[value] / len(everyone)
        others = len(secrets) - n
        if before < 1 and (
            others <= 1
            or (share >= 0.8 and (1 - share) <= (1 - before) / 2 + 1e-9)
            or (share >= 0.5 and share >= 10 * before - 1e-9)
        ):
            return True
    return False


def class_of(frame: pl.DataFrame, key: dict[str, Any]) -> pl.DataFrame:
    for name, value in key.items():
        frame = frame.filter(pl.col(name).eq_missing(pl.lit(value)))
    return frame


def shown_classes(answer: Any) -> list[dict[str, Any]]:
    """Every class that stands in an answer with its values, wherever it stands."""
    if isinstance(answer, dict):
        own = [answer["worst_class"]] if answer.get("worst_class") else []
        return [one for one in own if one["key"]] + [one for item in answer.values() for one in shown_classes(item)]
    return [one for item in answer for one in shown_classes(item)] if isinstance(answer, list) else []


def towns(**classes: Sequence[str]) -> pl.DataFrame:
    rows = [(town, ill) for town, ills in classes.items() for ill in ills]
    return pl.DataFrame(rows, schema=["town", "ill"], orient="row")


COMMON = {name: ["flu", "cold", "mumps"] * 7 for name in ("Lille", "Lyon", "Metz", "Nice", "Nancy", "Rennes", "Brest")}


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.lists(st.integers(0, 60), min_size=1, max_size=4))
def test_the_rule_is_that_of_the_words(inside: list[int], outside: list[int]) -> None:
    secrets = [at for at, n in enumerate(inside) for _ in range(n)]
    everyone = secrets + [at for at, n in enumerate(outside) for _ in range(n)]
    if not secrets:
        return
    n, whole = Counter(secrets), Counter(everyone)
    values = sorted(n)
    cells = disclosing(
        np.array([n[v] for v in values]),
        np.full(len(values), len(secrets)),
        np.array([whole[v] / len(everyone) for v in values]),
    )
    assert cells.any() == gives_away(secrets, everyone)


@pytest.mark.parametrize(
    ("ills", "named"),
    [
        (["plague"] * 5, False),  # five of a kind: whoever is there has it
        (["plague"] * 40, False),  # however many
        (["plague"] * 8 + ["flu"], False),  # the one with the flu knows about all others
        (["plague"] * 17 + ["flu", "cold", "mumps"], False),  # nearly certain
        (["plague"] * 9 + ["flu", "cold", "mumps"] * 2, False),  # more likely than not, and rare elsewhere
        (["flu", "cold", "mumps"] * 6 + ["flu"] * 3, True),
    ],
)
def test_what_a_class_discloses_decides_not_its_size_alone(ills: list[str], named: bool, tmp_path: Path) -> None:
    found = unveil.assess(towns(Tinyville=ills, **COMMON), "town", "ill")
    for form in ("html", "txt"):
        told = write(found, tmp_path / f"report.{form}").read_text("utf-8").rpartition("What discloses")[2]
        assert ("Tinyville" in told) == named
    assert "Tinyville" not in json.dumps(found.to_dict()["measurement"]) or named
    (rates,) = (rate for one in found.disclosures for rate in one.attributes)
    assert ("Tinyville" in {value.value for value in rates.riskiest}) == named
    assert ("Tinyville" in {dot.what for dot in rates.dots}) <= named
    assert rates.masked == (0 if named else 2)


def test_a_class_that_discloses_has_no_size_by_which_it_could_be_found() -> None:
    found = unveil.assess(towns(Tinyville=["plague"] * 6, **COMMON), "town", "ill").to_dict()
    assert "Tinyville" not in {value["value"] for value in found["identity"]["attributes"][0]["riskiest_values"]}
    worst = found["measurement"]["models"]["distinct_l_diversity"]["ill"]["worst_class"]
    assert worst == {"key": {}, "size": None, "masked": True}


@given(tables(columns=3, max_rows=40, nulls=True))
def test_no_class_that_an_assessment_names_discloses_anyone(frame: pl.DataFrame) -> None:
    if frame.filter(pl.any_horizontal(pl.col("a", "b").is_not_null())).is_empty():
        return
    found = unveil.assess(frame, ["a", "b"], "c", small=3)
    for one in shown_classes(found.to_dict()["measurement"]):
        held = class_of(frame, one["key"])
        assert held.height == one["size"] >= 3
        assert not gives_away(held["c"].to_list(), frame["c"].to_list())
    for disclosure in found.disclosures:
        for rate in disclosure.attributes:
            for value in rate.riskiest:
                held = class_of(frame, {rate.name: value.value})
                assert held.height == value.count >= 3
                assert not gives_away(held["c"].to_list(), frame["c"].to_list())


@given(tables(columns=2, max_rows=40, nulls=False))
def test_no_value_is_found_by_elimination(frame: pl.DataFrame) -> None:
    found = unveil.assess(frame, "a", "b", small=3)
    for rates in (found.attributes, *(one.attributes for one in found.disclosures)):
        for rate in rates:
            assert rate.masked != 1 or rate.values == 1
            named = {dot.what for dot in rate.dots} & {"x", "y", "z"}
            assert len(named) + rate.masked <= rate.values
    classes = {tuple(one["key"].items()) for one in shown_classes(found.to_dict()["measurement"])}
    masked = "masked" in json.dumps(found.to_dict()["measurement"])
    assert not (masked and classes) or found.measurement.classes - len(classes) >= 3


def test_what_is_left_of_the_uncertainty_is_not_that_of_the_masked_value_alone() -> None:
    """Whoever subtracts what is shown from the whole is left with the masked values together, one of them uncertain."""
    frame = towns(Tinyville=["plague"] * 6, Lille=["flu", "cold", "mumps"] * 4, Lyon=["flu", "cold"] * 9)
    (one,) = unveil.assess(frame, "town", "ill").disclosures
    (rate,) = one.attributes
    left = (1 - rate.dr) - sum(1 - value.dr for value in rate.riskiest)
    assert [value.value for value in rate.riskiest] in (["Lille"], ["Lyon"])
    assert left > 0.1


def unnamed(frame: pl.DataFrame) -> list[set[str]]:
    """The towns that are not named: as to who is who, and as to the illness."""
    found = unveil.assess(frame, "town", "ill")
    rates = [found.attributes[0], *(rate for one in found.disclosures for rate in one.attributes)]
    return [{*frame["town"]} - {value.value for value in rate.riskiest} for rate in rates]


def test_whoever_knows_the_rule_cannot_tell_which_value_is_masked_for_company() -> None:
    """It depends on cells that no reader knows, is no other in another table of the report, nor in another order of the records."""
    company = set()
    for at in range(12):
        ills = {town: [*ills, *["flu", "cold"][: at % 3]] for town, ills in COMMON.items()}
        frame = towns(Tinyville=["plague"] * 40, Brie=["ague"] * (3 + at // 3), **ills)
        identity, illness = unnamed(frame)
        assert {"Tinyville", "Brie"} < illness
        assert len(illness) == 3
        assert identity == illness, "what one shows and the other does not would be what discloses"
        assert unnamed(frame.sample(fraction=1.0, shuffle=True, seed=at)) == [identity, illness]
        company |= illness - {"Tinyville", "Brie"}
    assert len(company) > 1


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=8),
    st.integers(0, 10),
)
def test_a_value_that_need_not_be_masked_goes_with_those_that_must(values: list[tuple[int, bool]], small: int) -> None:
    n, telling = np.array([one for one, _ in values]), np.array([one for _, one in values])
    masked = masked_values(n, telling, small)
    must = (n < small) | telling if small else np.zeros(len(n), dtype=bool)
    assert (masked | must).tolist() == masked.tolist()
    assert masked.sum() == min(must.sum() + must.any(), len(n))


RECODINGS: list[Callable[..., Any]] = [
    unveil.anonymize, unveil.mondrian, unveil.recode_locally, unveil.generalize_subtrees,
]  # fmt: skip


def people() -> pl.DataFrame:
    ages = [*range(20, 50), 97]
    return pl.DataFrame(
        {"age": ages, "zip": [f"750{at % 7}{at % 3}" for at in ages], "ill": ["flu", "cold", "aids"] * 10 + ["pox"]}
    )


@pytest.mark.parametrize("recode", RECODINGS, ids=lambda one: one.__name__)
def test_no_recoding_names_the_original_class_that_decides(recode: Callable[..., Any]) -> None:
    models = [KAnonymity(3), DistinctLDiversity("ill", 2), TCloseness("ill", 0.9)]
    made = recode(people(), ["age", "zip"], models)
    answer = made.to_dict()
    assert answer["before"]["k_anonymity"]["value"] == 1
    chain = unveil.Release(made.records, Chain((made,)), made.origin).to_dict()
    for told in (answer["before"], chain["steps"][0]["before"]):
        assert '"key"' not in json.dumps(told)
    assert "= 97" not in page(made)
    for one in shown_classes(answer["models"]):
        held = class_of(made.data, one["key"])
        assert held.height == one["size"] >= 5
        assert not gives_away(held["ill"].to_list(), made.data["ill"].to_list())


def test_local_suppression_names_no_original_class() -> None:
    answer = unveil.suppress_locally(people(), ["age", "zip"], k=3).to_dict()
    assert '"key"' not in json.dumps(answer["before"])


def test_a_release_masks_the_class_of_its_own_that_discloses() -> None:
    frame = pl.DataFrame({"age": ["20s"] * 6 + ["30s"] * 6, "ill": ["pox"] * 6 + ["flu", "cold", "flu", "cold", "flu", "cold"]})
    trees = {"age": unveil.Hierarchy("age", [["20s", "*"], ["30s", "*"]])}
    made = unveil.anonymize(frame, trees, [KAnonymity(6), DistinctLDiversity("ill", 1)])
    assert made.to_dict()["models"]["distinct_l_diversity"]["ill"]["worst_class"] == {"key": {}, "size": None, "masked": True}


def test_presence_is_disclosed_where_all_of_the_population_are_in_the_file() -> None:
    population = pl.DataFrame({"town": ["Lille"] * 40 + ["Lyon"] * 10})
    sample = pl.DataFrame({"town": ["Lille"] * 8 + ["Lyon"] * 10})
    found = unveil.measure(sample, "town", population=population)
    assert found["delta_presence"].worst_class["discloses"] == ["presence"]  # type: ignore[index]


@given(tables(max_rows=40))
def test_values_that_must_not_be_named_are_those_of_the_definition(rows: pl.DataFrame) -> None:
    """Pair by pair of a value of the key and a sensitive value, for each key attribute and for both together."""
    counts = unveil.count(rows, ["a", "b", "c"])
    cells = [tuple(row[name] for name in ("a", "b", "c")) for row in counts.to_dict()["cells"] for _ in range(row["n"])]
    whole, telling = Counter(c for *_, c in cells), dict[str, set[Any]](a=set(), b=set(), c=set())
    for at, key in (((0,), "a"), ((1,), "b"), ((0, 1), "")):
        of_key = [tuple(cell[one] for one in at) for cell in cells]
        held, sizes = Counter(zip(of_key, (c for *_, c in cells), strict=True)), Counter(of_key)
        given_away = {
            pair: bool(disclosing(np.array([n]), np.array([sizes[pair[0]]]), np.array([whole[pair[1]] / len(cells)]))[0])
            for pair, n in held.items()
        }
        telling["c"] |= {c for c in whole if sum(n for pair, n in held.items() if pair[1] == c and not given_away[pair]) < SMALL}
        if key:
            telling[key] |= {value for (value,), c in held if given_away[(value,), c]}
    assert telling_values(counts, ["a", "b"], ["c"]) == telling
