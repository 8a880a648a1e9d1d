"""ARX's precision, the publisher's payoff, and a key attribute told from the others: against brute force from their definitions."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.errors import ArgumentError, ModelNotMetError
from unveil.models import KAnonymity, KMap, NoAttack, Profitable
from unveil.models.requirements import parse_profitable

TREES = {
    "age": unveil.Hierarchy.from_levels(["1", "2", "3", "4"], ["a", "a", "b", "b"], ["*"] * 4),
    "sex": unveil.Hierarchy.from_levels(["f", "m"], ["*"] * 2),
}
NODES = [*product(range(3), range(2))]
people = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("fm")), min_size=4, max_size=14)
Row = tuple[int, str]


def classes_at(rows: list[Row], node: tuple[int, ...]) -> dict[tuple[str, ...], int]:
    """Return how many records hold each pair of generalised values."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        pairs = zip(TREES.values(), row, node, strict=True)
        found[tuple(next(one for one in tree.labels if one[0] == str(value))[level] for tree, value, level in pairs)] += 1
    return dict(found)


def leaves_of(label: str, tree: unveil.Hierarchy, level: int) -> int:
    return sum(row[level] == label for row in tree.labels)


def payoff(label: tuple[str, ...], size: int, node: tuple[int, ...], game: tuple[float, ...]) -> float:
    benefit, loss, gain, cost = game
    held = math.prod(leaves_of(one, tree, level) for one, tree, level in zip(label, TREES.values(), node, strict=True))
    return benefit * (1 - math.log(held) / math.log(8)) - (loss / size if gain / size - cost > 0 else 0.0)


def frame_of(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["age", "sex"], orient="row")


def best(rows: list[Row], models: list[Any], objective: str, share: float, factor: float = 0.5) -> Any:
    try:
        return unveil.anonymize(frame_of(rows), TREES, models, suppression=share, objective=objective, factor=factor)
    except (ModelNotMetError, unveil.errors.EmptyDataError):
        return None


@given(people, st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]), st.sampled_from([0.0, 0.5]))
def test_precision_charges_a_suppressed_record_the_same_at_every_level(rows: list[Row], factor: float, share: float) -> None:
    general, suppressed = (1.0, 2 * factor) if factor < 0.5 else (2 - 2 * factor, 1.0)
    costs = []
    for node in NODES:
        lost = sum(n for n in classes_at(rows, node).values() if n < 2)
        if lost <= share * len(rows):
            kept = (len(rows) - lost) * (node[0] / 2 + node[1] / 1) / 2
            costs.append((general * kept + suppressed * lost) / len(rows))
    release = best(rows, [KAnonymity(2)], "precision-arx", share, factor)
    assert release is not None
    assert release.score == pytest.approx(min(costs), abs=1e-12)


@given(people, st.sampled_from([0.0, 0.2, 0.5, 0.7]), st.sampled_from([0.0, 0.5]))
def test_the_bits_of_combinations_that_are_lost(rows: list[Row], factor: float, share: float) -> None:
    general, suppressed = (1.0, 2 * factor) if factor < 0.5 else (2 - 2 * factor, 1.0)
    costs = []
    for node in NODES:
        total = lost = 0.0
        for label, n in classes_at(rows, node).items():
            held = math.prod(leaves_of(one, tree, level) for one, tree, level in zip(label, TREES.values(), node, strict=True))
            lost += n * (n < 2)
            total += n * (suppressed if n < 2 else general * math.log(held) / math.log(8))
        if lost <= share * len(rows):
            costs.append(total / len(rows))
    release = best(rows, [KAnonymity(2)], "entropy-based", share, factor)
    assert release is not None
    assert release.score == pytest.approx(min(costs), abs=1e-12)


@given(people, st.sampled_from([0.0, 0.1, 0.5, 0.7, 0.9, 1.0]), st.sampled_from([0.0, 0.3, 1.0]))
def test_class_sizes_take_the_factors_the_other_way_round(rows: list[Row], factor: float, share: float) -> None:
    """More classes are better: below 0.5 those that are kept count less, above it what is suppressed does."""
    kept, suppressed = min(1.0, 2 * factor), min(1.0, 2 - 2 * factor)
    costs = []
    for node in NODES:
        sizes = list(classes_at(rows, node).values())
        lost = sum(n for n in sizes if n < 2)
        if lost <= share * len(rows):
            classes = kept * sum(n >= 2 for n in sizes) + suppressed * (lost > 0)
            costs.append(len(rows) / classes if classes else math.inf)
    if min(costs) == math.inf:
        return
    try:
        release = unveil.anonymize(
            frame_of(rows), TREES, [KAnonymity(2)], suppression=share, objective="class-size", factor=factor
        )
    except unveil.errors.EmptyDataError:
        assert share == 1.0
        return
    assert release.score == pytest.approx(min(costs), abs=1e-12)


@given(people, st.sampled_from([0.0, 0.2, 0.5, 0.8]), st.sampled_from(["", "-geometric", "-max"]), st.booleans())
def test_entropies_as_arx_charges_them_take_weights_and_a_factor(rows: list[Row], factor: float, how: str, normal: bool) -> None:
    general, suppressing, n = min(1.0, 2 - 2 * factor), min(1.0, 2 * factor), len(rows)
    weights, costs = {"age": 0.5, "sex": 2.0}, []
    for node in NODES:
        labels = [next(iter(classes_at([row], node))) for row in rows]
        sizes = Counter(labels)
        gone = [label for label in labels if sizes[label] < 2]
        losses = []
        for at in range(2):
            values, groups, lost = (
                Counter(row[at] for row in rows),
                Counter(label[at] for label in labels),
                Counter(label[at] for label in gone),
            )
            bits = general * sum(math.log2(groups[label[at]] / values[row[at]]) for row, label in zip(rows, labels, strict=True))
            bits += suppressing * sum(math.log2(len(gone) / lost[label[at]]) for label in gone)
            most = sum(math.log2(n / values[row[at]]) for row in rows) or 1.0
            losses.append(bits / (most if normal else 1.0 if how == "-geometric" else n * math.log2(n)))
        low, high = (0.25, 1.0) if how else (0.2, 0.8)
        weighted = (low * losses[0], high * losses[1])
        joined = {"": sum(weighted), "-max": max(weighted), "-geometric": math.sqrt((1 + weighted[0]) * (1 + weighted[1])) - 1}
        if len(gone) <= 0.3 * n:
            costs.append(joined[how])
    name = f"entropy-{'normalized' if normal else 'arx'}{how}"
    release = unveil.anonymize(
        frame_of(rows), TREES, [KAnonymity(2)], suppression=0.3, objective=name, factor=factor, weights=weights
    )
    assert release.score == pytest.approx(min(costs), abs=1e-9)


games = st.sampled_from([(10.0, 3.0, 3.0, 1.0), (4.0, 9.0, 6.0, 2.0), (1.0, 1.0, 0.0, 1.0), (2.0, 5.0, 9.0, 0.5)])


@given(people, games, st.sampled_from([0.0, 0.4]))
def test_no_generalisation_pays_better(rows: list[Row], game: tuple[float, ...], share: float) -> None:
    """Classes that do not pay are suppressed, and what is left pays most."""
    costs = []
    for node in NODES:
        sizes = classes_at(rows, node)
        paid = {label: payoff(label, n, node, game) for label, n in sizes.items()}
        lost = sum(n for label, n in sizes.items() if paid[label] <= 1e-9)
        if lost <= share * len(rows):
            got = sum(n * paid[label] for label, n in sizes.items() if paid[label] > 1e-9)
            costs.append((1 - got / (game[0] * len(rows)), lost))
    text = ":".join(map(str, game))
    release = best(rows, [parse_profitable(text)], f"payoff:{text}", share)
    if release is None:
        assert not costs or min(costs)[1] == len(rows)
        return
    assert release.score == pytest.approx(min(costs)[0], abs=1e-9)
    found = (
        release.report["models"]["profitable"] if isinstance(release.report, dict) else release.to_dict()["models"]["profitable"]
    )
    levels = tuple(release.transformation.values())
    kept = [gain for label, n in classes_at(rows, levels).items() if (gain := payoff(label, n, levels, game)) > 1e-9]
    assert found["value"] == pytest.approx(min(kept))
    assert found["met"] is True


@given(people, people, games, st.sampled_from([0.0, 0.4]))
def test_no_generalisation_pays_better_where_a_journalist_attacks(
    rows: list[Row], others: list[Row], game: tuple[float, ...], share: float
) -> None:
    """What an attack succeeds with is one over the people of the population in the class; a prosecutor's pays no less."""
    everyone, costs = rows + others, []
    for node in NODES:
        sizes, whole = classes_at(rows, node), classes_at(everyone, node)
        paid = {label: payoff(label, whole[label], node, game) for label in sizes}
        assert all(paid[label] >= payoff(label, n, node, game) for label, n in sizes.items())
        lost = sum(n for label, n in sizes.items() if paid[label] <= 1e-9)
        if lost <= share * len(rows):
            got = sum(n * paid[label] for label, n in sizes.items() if paid[label] > 1e-9)
            costs.append((1 - got / (game[0] * len(rows)), lost))
    text = ":".join(map(str, game)) + ":journalist"
    call = {"suppression": share, "objective": f"payoff:{text}", "population": frame_of(everyone)}
    try:
        release = unveil.anonymize(frame_of(rows), TREES, [parse_profitable(text)], **call)  # type: ignore[arg-type]
    except (ModelNotMetError, unveil.errors.EmptyDataError):
        assert not costs or min(costs)[1] == len(rows)
        return
    assert release.score == pytest.approx(min(costs)[0], abs=1e-9)
    levels = tuple(release.transformation.values())
    whole = classes_at(everyone, levels)
    kept = [gain for label in classes_at(rows, levels) if (gain := payoff(label, whole[label], levels, game)) > 1e-9]
    found = release.to_dict()["models"]["profitable"]
    assert (found["value"], found["met"]) == (pytest.approx(min(kept)), True)
    assert "in the population" in found["requirement"]


@given(people, st.sampled_from([0.0, 0.4]))
def test_a_journalist_in_a_population_that_is_the_table_is_a_prosecutor(rows: list[Row], share: float) -> None:
    text, frame = "4:9:6:2", frame_of(rows)
    scores: list[Any] = []
    for models, objective in (
        ([parse_profitable(text), NoAttack(3, 2)], f"payoff:{text}"),
        ([parse_profitable(f"{text}:journalist"), NoAttack(3, 2, "journalist")], f"payoff:{text}:journalist"),
    ):
        try:
            release = unveil.anonymize(frame, TREES, models, suppression=share, objective=objective, population=frame)
        except (ModelNotMetError, unveil.errors.EmptyDataError):
            scores.append(None)
        else:
            scores.append((release.score, release.suppressed, release.transformation))
    assert scores[0] == scores[1]


@given(people, people, st.sampled_from([0.0, 0.2]), st.sampled_from([(1.0, 1.0), (5.0, 2.0), (9.0, 2.0)]))
def test_no_attack_of_a_journalist_pays_where_k_map_has_more_than_gain_by_cost(
    rows: list[Row], others: list[Row], share: float, game: tuple[float, float]
) -> None:
    gain, cost = game
    people_needed = next(n for n in range(1, 99) if gain / n < cost)
    whole = frame_of(rows + others)
    found: list[Any] = []
    for model in (NoAttack(gain, cost, "journalist"), KMap(people_needed)):
        try:
            release = unveil.anonymize(frame_of(rows), TREES, [model], suppression=share, population=whole)
        except (ModelNotMetError, unveil.errors.EmptyDataError):
            found.append(None)
            continue
        measured = release.to_dict()["models"][model.name]
        found.append((release.transformation, release.suppressed, measured["value"], measured["met"]))
    assert found[0] == found[1]


def test_what_a_journalist_finds_is_stated_against_who_is_in_the_population(tmp_path: Path) -> None:
    part, whole = frame_of([(1, "f"), (2, "f"), (3, "m")]), frame_of([(1, "f"), (2, "f"), (3, "m")] * 3)
    models = [NoAttack(5, 2, "journalist"), Profitable(10, 3, 3, 1, "journalist"), KAnonymity(1)]
    release = unveil.anonymize(part, TREES, models, population=whole)
    release.write(tmp_path / "release.csv")
    stated = json.loads((tmp_path / "release.csv.unveil.json").read_text())["models"]
    assert {one["model"]: "in the population" in one["against"] for one in stated} == {
        "no_attack": True, "profitable": True, "k_anonymity": False,
    }  # fmt: skip
    assert release.transformation == {"age": 0, "sex": 0}


@pytest.mark.parametrize("model", [NoAttack(5, 2, "journalist"), Profitable(10, 3, 3, 1, "journalist")])
def test_a_journalist_needs_a_population(model: Any) -> None:
    frame = frame_of([(1, "f")] * 3)
    with pytest.raises(ArgumentError, match="compares the table with its population"):
        unveil.anonymize(frame, TREES, [model])
    with pytest.raises(ArgumentError, match="population"):
        unveil.measure(frame, ["age", "sex"], models=[model])
    with pytest.raises(ArgumentError, match="population"):
        unveil.mondrian(frame, ["age"], [model])
    with pytest.raises(ArgumentError, match="needs a population"):
        unveil.anonymize(frame, TREES, [KAnonymity(1)], objective="payoff:10:3:3:1:journalist")


def told(rows: list[Row], node: tuple[int, ...], at: int, factor: float) -> float:
    """Return how badly an attribute is told by the other at a node, nothing suppressed."""
    tree = list(TREES.values())[at]
    values = {str(row[at]) for row in rows}
    left = len({one[node[at]] for one in tree.labels if one[0] in values})
    blurred = 0.0 if len(values) == 1 else 1 - (left - 1) / (len(values) - 1)
    plain, even = min(1.0, 2 - 2 * factor), min(1.0, 2 * factor)
    worst = max(plain, even, factor)
    groups: dict[str, list[int]] = defaultdict(list)
    for label, n in classes_at(rows, node).items():
        groups[label[1 - at]].append(n)
    total = 0.0
    for sizes in groups.values():
        first, second, *_ = [*sorted(sizes, reverse=True), 0, 0]
        if blurred == 1.0:
            total += worst * sum(sizes)
        elif first > second:
            total += (plain * (1 - blurred) + worst * blurred) * (sum(sizes) - first)
        else:
            total += (even * (1 - blurred) + worst * blurred) * sum(sizes)
    return total / (worst * len(rows))


@given(people, st.sampled_from(["age", "sex"]), st.sampled_from([0.2, 0.5, 0.8]))
def test_a_key_attribute_is_told_by_the_others(rows: list[Row], target: str, factor: float) -> None:
    at = list(TREES).index(target)
    allowed = [node for node in NODES if min(classes_at(rows, node).values()) >= 2]
    release = best(rows, [KAnonymity(2)], f"classification:{target}", 0.0, factor)
    assert release is not None
    assert release.score == pytest.approx(min(told(rows, node, at, factor) for node in allowed), abs=1e-12)


def test_suppressed_records_count_as_the_factor_says_where_a_key_attribute_is_told() -> None:
    rows = [(1, "f"), (1, "f"), (1, "f"), (3, "m")]
    release = unveil.anonymize(
        frame_of(rows), TREES, [KAnonymity(2)], suppression=0.25, objective="classification:age", levels={"age": (0, 0), "sex": (0, 0)}
    )  # fmt: skip
    assert (release.suppressed, release.score) == (1, 0.125)


def test_what_a_table_pays_as_it_is() -> None:
    frame = pl.DataFrame({"age": [1, 1, 1, 2]})
    found = unveil.measure(frame, "age", models=[Profitable(10, 30, 5, 2)]).to_dict()["models"]["profitable"]
    assert (found["value"], found["met"], found["violations"]) == (-20.0, False, {"classes": 1, "records": 1})
    assert np.allclose(Profitable(10, 30, 5, 2).game.payoff(np.array([1.0, 2.0, 3.0]), 0.5), [-25.0, -10.0, 5.0])


def test_what_a_table_pays_in_its_population() -> None:
    part, whole = pl.DataFrame({"age": [1, 1, 2]}), pl.DataFrame({"age": [1, 1, 1, 2, 2]})
    asked = [Profitable(10, 30, 5, 2, "journalist"), NoAttack(5, 2, "journalist")]
    found = unveil.measure(part, "age", population=whole, models=asked).to_dict()["models"]
    paid, attacked = found["profitable"], found["no_attack"]  # 5 / 3 < 2: no attack on three; 5 / 2 > 2: one on two, 10 - 30 / 2
    assert (paid["value"], paid["met"], paid["violations"]) == (-5.0, False, {"classes": 1, "records": 1})
    assert (attacked["value"], attacked["met"], attacked["violations"]) == (2, False, {"classes": 1, "records": 1})
    assert paid["worst_class"] == {"key": {"age": 2}, "size": 1, "population": 2}


@pytest.mark.parametrize(
    "text", ["1:2:3:journalist", "1:2:3:4:marketer", "1:2:3", "a:1:1:1", "0:1:1:1", "1:-1:1:1", "1:1:inf:1", "1:1:nan:1", ""]
)
def test_a_game_that_nobody_can_weigh_up_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse_profitable(text)
    with pytest.raises(ArgumentError):
        unveil.anonymize(frame_of([(1, "f")] * 3), TREES, [KAnonymity(2)], objective=f"payoff:{text}")
    with pytest.raises(ArgumentError, match="finer recodings"):
        unveil.mondrian(frame_of([(1, "f")] * 3), ["age"], [Profitable(1.0)])
