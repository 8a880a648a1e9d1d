"""Every measure keeps its laws: bounds, row order, names of values, the table doubled, one key attribute more.

The figures are all that an answer has, so a new one is under every law unless it is on the list of those that need not keep one,
with the reason; it fails until its bounds are given.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import unveil
from unveil import testing
from unveil.models.registry import MODELS

SENSITIVE = "c"
KEY = ["a", "b"]
NAMES = ["x", "y", "z", "A0", "Z9", "m"]
ORDER = {SENSITIVE: NAMES}
NO_FIGURES = {"worst_class", "worst", "made", "notes", "parameters", "fit", "key", "by_value", "reason"}
"""What an answer holds beside figures."""
ELSEWHERE = {
    "km_anonymity": "asked of a column that holds sets; its laws are in tests/models/test_sets.py",
    "population_uniqueness": "the share of an estimate, which is on the lists itself",
    "sample_uniqueness": "the share that is on the lists as that of the uniqueness of the sample",
}
"""Models without a figure here, and why."""


def leaves(document: Mapping[str, Any], place: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """Yield every figure of an answer, with its place."""
    for name, part in document.items():
        if isinstance(part, Mapping) and name not in NO_FIGURES:
            yield from leaves(part, (*place, name))
        elif isinstance(part, int | float) and not isinstance(part, bool) and name not in NO_FIGURES:
            yield " ".join((*place, name)), float(part)


def figures(frame: pl.DataFrame, key: Sequence[str]) -> dict[str, float | None]:
    """Return every figure that `measure` and `discrimination_rate` give, with all that can be asked of them."""
    models = [
        unveil.models.EstimatedKMap(2, 0.5), unveil.models.GrassbergerLDiversity(SENSITIVE), unveil.models.NoAttack(1.0),
        unveil.models.PresentDeltaDisclosure(SENSITIVE), unveil.models.Profitable(1.0, 1.0),
    ]  # fmt: skip
    population = pl.concat([frame] * 3)
    answers = {
        "": unveil.measure(frame, key, SENSITIVE, orders=ORDER, models=models, population=population, special=True),
        "sampled": unveil.measure(frame, key, SENSITIVE, sampling_fraction=0.25, loglinear=1),
        "weighted": unveil.measure(frame.with_columns(weight=3.0), key, SENSITIVE, weights="weight"),
        "rate": unveil.discrimination_rate(frame, key, SENSITIVE),
        "identity": unveil.discrimination_rate(frame, key),
    }
    numbers = frame.with_columns(pl.col(SENSITIVE).replace_strict(NAMES, range(len(NAMES)), return_dtype=pl.Int64))
    documents = {name: answer.to_dict() for name, answer in answers.items()}
    documents["numbers"] = unveil.discrimination_rate(numbers, key, SENSITIVE).to_dict()["distortion"]
    documents["sampled"] = {"uniqueness": documents["sampled"]["uniqueness"]}  # the rest is as without
    documents["weighted"] = {"risk": documents["weighted"]["risk"]}
    return {f"{name} {place}".strip(): value for name, document in documents.items() for place, value in leaves(document)}


SHARES = (0, 1)
BOUNDS: dict[str, tuple[float, float]] = {
    r"(rate |identity )?(records|classes)|suppressed": (0, math.inf),
    r"models (k_anonymity|k_map|estimated_k_map|no_attack) value": (1, math.inf),
    r"models (average_risk|delta_presence|profitable) value": SHARES,
    r"models .* violations (classes|records)": (0, math.inf),
    r"models (p_sensitivity|distinct_l_diversity|entropy_l_diversity|grassberger_l_diversity) c value": (1, math.inf),
    r"models alpha c value|models t_closeness c (equal|rank|variational|js) value": SHARES,
    r"models (recursive_l_diversity c \d|t_closeness c kl|(basic|enhanced)_beta_likeness c) value": (0, math.inf),
    r"models (present_)?delta_disclosure c value": (0, math.inf),
    r"(weighted )?risk (prosecutor|journalist|marketer) .*": SHARES,
    r"weighted risk (individual_.*|loglinear) (highest|rate)|weighted risk loglinear sampling_fraction": SHARES,
    r"weighted risk .* expected": (0, math.inf),
    r"(sampled )?uniqueness sample (share|distinction|separation)": SHARES,
    r"(sampled )?uniqueness (sample uniques|(simple|population|special|loglinear) (sample_|population_|special_)?uniques)": (
        0,
        math.inf,
    ),
    r"uniqueness simple (share|highest_risk)": SHARES,
    r"sampled uniqueness population (records|classes|population|(dankar|pitman|snb|zayatz) (sample_)?value)": (0, math.inf),
    r"sampled uniqueness population (sampling_fraction|(dankar|pitman|snb|zayatz) (sample_)?share)": SHARES,
    r"sampled uniqueness loglinear (order|correct_matches|interval (low|high))": (0, math.inf),
    r"sampled uniqueness loglinear interval confidence": SHARES,
    r"uniqueness special (records|max_size|max_score|msu_by_size \d)": (0, math.inf),
    r"uniqueness special (dis|dis_fraction|contribution .*)": SHARES,
    r"vulnerability .* (prior|posterior)": SHARES,
    r"vulnerability .* gain": (1, math.inf),
    r"(rate|identity) value": SHARES,
    r"rate adjusted": (-math.inf, 1),
    r"(rate|identity) ((conditional_)?entropy|mutual_information)": (0, math.inf),
    r"(rate distortion|numbers) largest_divergence|numbers (squared_error|variance)": (0, math.inf),
}
"""Between what the figures lie, by the form of their places."""
UNLESS_NAMES = {
    r"models t_closeness c rank value": "values in order",
    r"numbers (squared_error|variance)": "values are numbers",
}
UNLESS_DOUBLED = {
    r"(.* )?(records|sample_uniques|special_uniques|uniques|max_score)": "counts records",
    r"models (k_anonymity|average_risk|k_map|estimated_k_map|no_attack) .*": "counts records",
    r"models grassberger_l_diversity c value": "corrects for the number of records",
    r"(weighted )?risk .*": "one among so many records",
    r"uniqueness simple share|uniqueness special .*": "counts records",
    r"(sampled )?uniqueness sample (share|distinction|separation)": "counts records",
    r"sampled uniqueness (population|loglinear) .*": "an estimate from counts of records",
    r"vulnerability re_identification (prior|posterior)": "one among so many records",
    r"identity (value|entropy|conditional_entropy)": "the identity of more records",
    r"rate adjusted": "what chance gives so many records",
}
UNLESS_MORE = {
    r"rate adjusted": "what chance gives grows with the classes",
    r"models recursive_l_diversity c \d value": "given as long as every class holds so many values",
    r"sampled uniqueness (population|loglinear) .*|weighted risk loglinear .*": "an estimate, which follows a model",
    r"uniqueness special (dis|contribution .*|max_size)": "shares of the key attributes, and how many may be taken together",
}
"""The figures that need not keep a law, by the form of their places, with the reason."""
SAFE_IS_HIGH = re.compile(
    r"models (k_anonymity|k_map|estimated_k_map|no_attack) value|models .*_diversity c value|models p_sensitivity c value"
    r"|(rate|identity) conditional_entropy|numbers squared_error"
)


def places() -> list[str]:
    """Return the places of all figures that tables of several sizes have."""
    random, there = Random(1), set()  # noqa: S311 - tables to draw
    for rows in (2, 6, 12, 18, 60, 200) * 4:
        frame = pl.DataFrame({name: random.choices("xyz", k=rows) for name in "abc"})
        if frame[SENSITIVE].n_unique() > 1:
            there |= set(figures(frame, KEY))
    return sorted(there)


PLACES = places()


def kept(unless: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return the figures that keep a law."""
    return [place for place in PLACES if not any(re.fullmatch(form, place) for form in unless)]


def varied(frame: pl.DataFrame) -> pl.DataFrame:
    assume(frame[SENSITIVE].n_unique() > 1)
    return frame


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_figures_lie_between_their_bounds(frame: pl.DataFrame) -> None:
    bounds = {place: next(some for form, some in BOUNDS.items() if re.fullmatch(form, place)) for place in PLACES}
    testing.bounded(figures, varied(frame), KEY, bounds)


@given(testing.tables(nulls=False), st.integers(0, 9))
@settings(max_examples=20)
def test_row_order_changes_nothing(frame: pl.DataFrame, seed: int) -> None:
    testing.unmoved_by_row_order(figures, varied(frame), KEY, kept(), Random(seed))  # noqa: S311 - rows to shuffle


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_names_of_values_change_nothing(frame: pl.DataFrame) -> None:
    testing.unmoved_by_names(figures, varied(frame), KEY, kept(UNLESS_NAMES))


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_the_table_doubled_changes_nothing(frame: pl.DataFrame) -> None:
    testing.unmoved_by_doubling(figures, varied(frame), KEY, kept(UNLESS_DOUBLED))


@given(testing.tables(nulls=False))
@settings(max_examples=20)
def test_a_further_key_attribute_is_never_safer(frame: pl.DataFrame) -> None:
    names = kept(UNLESS_MORE)
    safe_is_high = [place for place in names if SAFE_IS_HIGH.fullmatch(place)]
    testing.riskier_with_more_columns(figures, varied(frame), KEY, names, safe_is_high=safe_is_high)


def test_every_figure_has_bounds_and_every_form_a_figure() -> None:
    assert [place for place in PLACES if sum(bool(re.fullmatch(form, place)) for form in BOUNDS) != 1] == []
    forms = [*BOUNDS, *UNLESS_NAMES, *UNLESS_DOUBLED, *UNLESS_MORE]
    assert [form for form in forms if not any(re.fullmatch(form, place) for place in PLACES)] == []


def test_every_model_has_a_figure_that_keeps_the_laws() -> None:
    measured = {place.split(" ")[1] for place in PLACES if place.startswith("models ")}
    assert {kind.name for kind in MODELS} - measured == set(ELSEWHERE)


@pytest.mark.parametrize(
    ("law", "arguments"),
    [
        (testing.bounded, ({"rows": (0, 1)},)),
        (testing.unmoved_by_row_order, (["first"], Random(0))),  # noqa: S311 - rows to shuffle
        (testing.unmoved_by_names, (["first"],)),
        (testing.unmoved_by_doubling, (["rows"],)),
        (testing.riskier_with_more_columns, (["fewer"],)),
    ],
)
def test_a_law_that_is_broken_is_told(law: object, arguments: tuple[object, ...]) -> None:
    def broken(frame: pl.DataFrame, key: Sequence[str]) -> dict[str, float | None]:
        return {"rows": frame.height, "first": ord(frame["a"][0][0]), "fewer": -len(key)}

    frame = pl.DataFrame({"a": ["x", "y", "z"], "b": ["x", "x", "y"]})
    with pytest.raises(AssertionError, match=r"rows|first|fewer"):
        law(broken, frame, KEY, *arguments)  # type: ignore[operator]
