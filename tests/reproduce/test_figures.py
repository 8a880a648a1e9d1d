from __future__ import annotations

import json
from collections import Counter

import pytest

from helpers import shared
from unveil.reproduce import agreement, reproduce


def test_145_figures_agree_and_12_are_errata_with_a_note() -> None:
    figures = reproduce().figures
    assert Counter(figure.agreement for figure in figures)["erratum"] == 12
    assert len(figures) == 157
    assert all(figure.note for figure in figures if figure.agreement == "erratum")


def test_known_figures_come_out() -> None:
    found = {(figure.source, figure.what): figure.computed for figure in reproduce().figures}
    assert found["thesis Example 2", "DR of Subject given Age"] == pytest.approx(2 / 3, abs=1e-12)
    assert found["t-closeness salary", "D[P1,Q]"] == pytest.approx(0.375, abs=1e-12)
    assert found["t-closeness disease", "D[P1,Q]"] == pytest.approx(4 / 9, abs=1e-12)
    assert found["t-closeness disease", "D[P2,Q]"] == pytest.approx(8 / 27, abs=1e-12)


def test_every_figure_is_the_reference_value() -> None:
    golden = json.loads(shared("golden/seed_figures.json").read_text(encoding="utf-8"))
    expected = golden["discrimination_rates"] + golden["earth_mover_distances"]
    figures = reproduce().figures
    assert len(figures) == len(expected)
    for figure, reference in zip(figures, expected, strict=True):
        assert figure.source == reference["source"]
        assert figure.published == reference["published"]
        assert figure.computed == pytest.approx(reference["reference"], abs=1e-9)
        assert figure.agreement == reference["agreement"]


@pytest.mark.parametrize(
    ("published", "computed", "expected"),
    [
        (0.7, 0.7596, "erratum"),
        (0.7, 0.7049, "rounded"),
        (0.375, 0.3742, "erratum"),
        (1, 1.0, "rounded"),
        (0.04, 0.0459, "truncated"),
    ],
)
def test_agreement_is_judged_at_the_printed_decimals(published: float, computed: float, expected: str) -> None:
    assert agreement(published, computed) == expected
