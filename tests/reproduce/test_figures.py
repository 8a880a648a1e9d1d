from __future__ import annotations

import json
from collections import Counter

import polars as pl
import pytest

import unveil
from helpers import rate, shared
from unveil import datasets, mechanisms
from unveil.reproduce import PublishedFigure, Reproduction, agreement, reproduce


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduce()


def computed(found: Reproduction, source: str) -> dict[str, float]:
    """Return the computed figures of a source by what they are of."""
    return {figure.what: figure.computed for figure in found.figures if figure.source == source}


def test_every_figure_agrees_or_is_an_erratum_with_its_cause(found: Reproduction) -> None:
    assert len(found.figures) == 249
    assert Counter(figure.agreement for figure in found.figures)["erratum"] == 26
    assert all(figure.note for figure in found.figures if figure.agreement == "erratum")


def test_every_figure_names_the_public_call_that_computes_it(found: Reproduction) -> None:
    for name in {figure.by for figure in found.figures}:
        home = unveil if name in unveil.__all__ else mechanisms
        call = getattr(home, name.partition(".")[0])
        assert callable(getattr(call, name.partition(".")[2]) if "." in name else call)


def test_known_figures_come_out(found: Reproduction) -> None:
    assert computed(found, "thesis Example 2")["DR of Subject given Age"] == pytest.approx(2 / 3, abs=1e-12)
    assert computed(found, "t-closeness salary")["D[P1,Q] of Salary"] == pytest.approx(0.375, abs=1e-12)
    assert computed(found, "t-closeness disease")["D[P1,Q] of Disease"] == pytest.approx(4 / 9, abs=1e-12)
    assert computed(found, "t-closeness disease")["D[P2,Q] of Disease"] == pytest.approx(8 / 27, abs=1e-12)
    assert computed(found, "paper Table 9, caption")["closeness of Disease, equal distances"] == pytest.approx(5 / 9, abs=1e-12)


def test_every_figure_is_the_reference_value(found: Reproduction) -> None:
    golden = json.loads(shared("golden/seed_figures.json").read_text(encoding="utf-8"))
    expected = [*golden["discrimination_rates"], *golden["earth_mover_distances"], *golden["resistance_1_minus_dr"]]
    for figure, reference in zip(found.figures, expected, strict=False):
        assert figure.source == reference["source"]
        assert figure.published == reference["published"]
        assert figure.computed == pytest.approx(reference["reference"], abs=1e-9)
        assert figure.agreement == reference["agreement"]
    for figure, reference in zip(found.figures[len(expected) :], golden["global_figures"], strict=False):
        assert (figure.source, figure.published) == (reference["source"], reference["published"])
        assert figure.computed == pytest.approx(reference["reference"], abs=1e-9)


def test_rows_6_and_9_of_table_4_give_the_printed_table_7(found: Reproduction) -> None:
    diseases = datasets.load("paper-2")["Disease"].to_list()
    others = datasets.load("paper-4")["Disease"].to_list()
    ages = datasets.load("paper-2")["Age*"].to_list()
    mended = [others[at] if at in {5, 8} else disease for at, disease in enumerate(diseases)]
    assert rate(mended, ages) == pytest.approx(0.5239, abs=5e-5)
    frame = pl.DataFrame({"Age*": ages, "Disease": mended})
    by_value = {row["Age*"]: row["dr"] for row in unveil.discrimination_rate(frame, "Age*", "Disease").by_value}
    printed = {figure.what: figure.published for figure in found.figures if figure.source == "paper Table 7, k-anonymity"}
    assert agreement(printed["DR of Disease given Age* = >=40"], by_value[">=40"]) == "rounded"
    assert agreement(printed["DR of Disease given Age* = 3*"], by_value["3*"]) == "rounded"
    assert agreement(printed["DR of Disease given Age*"], rate(mended, ages)) == "rounded"
    resistance = {figure.what: figure.published for figure in found.figures if figure.source == "paper Table 8, k-anonymity"}
    assert agreement(1 - resistance["1 - DR of Disease given Age*"], rate(mended, ages)) == "rounded"


def test_exchanged_rows_give_the_printed_figures(found: Reproduction) -> None:
    rows = {figure.what: figure for figure in found.figures if figure.source == "thesis Table 4.7, k-anonymity"}
    young, old = (rows[f"1 - DR of location 1 given Age* = {value}"] for value in ("2*", ">=40"))
    assert agreement(young.published, old.computed) == agreement(old.published, young.computed) == "rounded"


def test_a_complement_is_judged_by_the_figure_it_was_taken_from() -> None:
    assert PublishedFigure("a", "b", 0.22, 0.2111, "attack").agreement == "erratum"
    assert PublishedFigure("a", "b", 0.22, 0.2111, "attack", complement=True).agreement == "truncated"
    assert PublishedFigure("a", "b", 0.30, 0.2405, "attack", complement=True).agreement == "erratum"


def test_table_2_6_and_6_6_are_the_printed_tables(found: Reproduction) -> None:
    ages = datasets.load("thesis-2.6")["Age"].to_list()[::3]
    means = [value for what, value in computed(found, "thesis Table 2.6").items() if "mean" in what]
    assert [round(value, 2) for value in means] == ages
    assert list(computed(found, "thesis Table 6.6").values()) == [4, 4, 4, 13, 8, 13, 8, 8, 13]


@pytest.mark.parametrize(
    ("published", "value", "expected"),
    [
        (0.7, 0.7596, "erratum"),
        (0.7, 0.7049, "rounded"),
        (0.375, 0.3742, "erratum"),
        (1, 1.0, "rounded"),
        (0.04, 0.0459, "truncated"),
    ],
)
def test_agreement_is_judged_at_the_printed_decimals(published: float, value: float, expected: str) -> None:
    assert agreement(published, value) == expected
