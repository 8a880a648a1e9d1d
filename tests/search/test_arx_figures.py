"""The optimum of ARX 3.9.2 on its own Adult, configuration by configuration, as it was run: score, levels and suppressed records.

Where ARX adds attributes up, its figure is divided by the weights' sum here, and its bits are divided by n log2 n.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import unveil
from helpers import shared
from unveil.models import DeltaPresence, GrassbergerLDiversity, KAnonymity
from unveil.models.requirements import parse_models

Case = tuple[list[str], float, str, float, dict[str, float], dict[str, Any], float, tuple[int, ...], int]
CASES: list[Case] = [
    (["age", "marital-status", "native-country"], 0.5, "precision-arx-rank", 0.8, {"age": 1.0, "marital-status": 2.0, "native-country": 0.7}, {"k": 10}, 0.07427955705855047, (1, 0, 1), 461),
    (["age", "native-country"], 0.0, "discernibility-monotone", 0.5, {}, {"k": 50}, 190619660.0, (2, 2), 0),
    (["age", "race", "education", "salary-class"], 0.02, "classification:occupation", 0.66, {}, {"k": 3, "delta": ["present:1.3:occupation"]}, 0.5810682315496318, (4, 0, 3, 1), 517),
    (["age", "race", "marital-status", "native-country", "workclass"], 0.05, "height-rank", 0.5, {"age": 2.0, "race": 1.0, "marital-status": 0.0, "native-country": 0.5, "workclass": 2.0}, {"k": 5}, 0.5, (0, 0, 2, 2, 0), 1020),
    (["age", "race", "native-country", "workclass"], 0.05, "height", 0.5, {}, {"t": ["0.33:equal:occupation"]}, 6.0, (4, 0, 0, 2), 1485),
    (["age", "race"], 0.1, "loss-rank", 0.1, {}, {"t": ["0.2:hierarchical:occupation"]}, 0.0588883999, (1, 0), 2905),
    (["native-country", "workclass", "salary-class"], 0.0, "class-size", 0.1, {}, {"k": 50, "l": ["recursive:4.0:3:occupation"]}, 30162.0, (1, 2, 1), 0),
    (["race", "marital-status", "education", "workclass"], 0.5, "entropy-arx-max", 0.25, {}, {"k": 2, "t": ["0.2:hierarchical:occupation"]}, 0.07053224851336033, (1, 1, 0, 1), 13674),
    (["race", "marital-status", "native-country", "salary-class"], 0.02, "entropy-arx", 0.25, {}, {"k": 5, "t": ["0.1:rank:occupation"]}, 0.009253172867219278, (0, 0, 1, 0), 489),
    (["race", "marital-status", "workclass"], 0.0, "entropy-normalized-rank", 0.5, {}, {"k": 10, "t": ["0.2:hierarchical:occupation"]}, 1.0, (0, 2, 2), 0),
    (["race", "native-country", "workclass", "salary-class"], 0.02, "loss-geometric", 0.25, {"race": 2.0, "native-country": 0.0, "workclass": 0.7, "salary-class": 1.0}, {"l": ["recursive:4.0:5:occupation"]}, 0.02414532719305429, (0, 2, 1, 0), 5),
    (["sex", "age", "marital-status", "education", "salary-class"], 0.1, "precision-arx-max", 0.1, {"sex": 0.5, "age": 2.0, "marital-status": 2.0, "education": 0.7, "salary-class": 2.0}, {"k": 5, "t": ["0.35:hierarchical:occupation"]}, 0.24506498242822092, (0, 1, 0, 2, 0), 2977),
    (["sex", "age", "marital-status", "workclass"], 0.02, "entropy-normalized", 0.5, {}, {"k": 10, "t": ["0.33:equal:occupation"]}, 0.5001886540088698, (0, 4, 0, 2), 21),
    (["sex", "age", "race", "salary-class"], 0.5, "discernibility", 0.5, {}, {"l": ["distinct:5:occupation"]}, 12284414.0, (0, 0, 1, 0), 160),
    (["sex", "age", "race", "workclass", "salary-class"], 1.0, "ambiguity", 0.5, {}, {"beta": ["basic:5.1:occupation"]}, 12048960.0, (1, 2, 0, 2, 0), 456),
    (["sex", "age", "workclass"], 0.05, "entropy-based", 0.5, {}, {"k": 50, "l": ["distinct:2:occupation"]}, 0.2562782017408161, (0, 1, 0), 1471),
    (["sex", "education", "native-country", "salary-class"], 1.0, "entropy-arx-rank", 0.8, {"sex": 0.7, "education": 0.7, "native-country": 2.0, "salary-class": 0.25}, {"k": 3}, 0.005127028855685246, (0, 0, 0, 1), 444),
    (["sex", "native-country"], 0.0, "precision-arx", 0.0, {"sex": 1.0, "native-country": 0.25}, {"l": ["distinct:2:occupation"]}, 0.1, (0, 1), 0),
    (["sex", "race", "education", "native-country", "salary-class"], 0.1, "entropy-arx-geometric", 0.5, {}, {"k": 3, "beta": ["enhanced:10:occupation"]}, 551.6070912725627, (0, 1, 3, 2, 0), 0),
    (["age", "race", "marital-status"], 0.05, "classification:salary-class+classification:occupation", 0.5, {}, {"k": 10}, 1.0266892115907404, (1, 0, 0), 491),
    (["age", "race", "marital-status"], 0.02, "classification:marital-status+classification:occupation", 0.8, {}, {"k": 5}, 0.4805052715337178, (2, 1, 0), 12),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case[2] for case in CASES])
def test_the_optimum_is_that_of_arx(case: Case) -> None:
    keys, suppression, objective, factor, weights, words, score, levels, suppressed = case
    folder = shared("data/arx-adult")
    table = pl.read_csv(folder / "adult.csv", separator=";", infer_schema=False)
    release = unveil.anonymize(
        table.select(list(dict.fromkeys([*keys, "occupation", "salary-class"]))),
        {key: folder / f"adult_hierarchy_{key}.csv" for key in keys},
        parse_models(dict(words), ["occupation"]),
        hierarchies={"occupation": folder / "adult_hierarchy_occupation.csv"},
        orders={"occupation": sorted(table["occupation"].unique())},
        suppression=suppression,
        objective=objective,
        factor=factor,
        weights=weights,
    )
    assert release.score == pytest.approx(score, rel=1e-6)
    assert tuple(release.transformation.values()) == levels
    assert release.suppressed == suppressed


def test_the_divergence_counts_a_combination_once() -> None:
    """Three records a and one b in one group: 0.75 log2 1.5 - 0.25. ARX, which adds it up record by record, has 1.0662."""
    tree = unveil.Hierarchy("q", [["a", "*"], ["b", "*"]])
    release = unveil.anonymize(pl.DataFrame({"q": list("aaab")}), {"q": tree}, [KAnonymity(2)], objective="kl")
    assert release.score == pytest.approx(0.75 * math.log2(1.5) - 0.25)


@pytest.mark.parametrize("values", ["aabc", "bcaa"])
def test_grassbergers_entropy_does_not_go_by_the_order_of_records(values: str) -> None:
    """ARX finds the first class too uniform, and the second not."""
    table, tree = pl.DataFrame({"q": ["x"] * 4, "s": list(values)}), unveil.Hierarchy("q", [["x", "*"]])
    release = unveil.anonymize(table, {"q": tree}, [GrassbergerLDiversity("s", 3.0)], objective="height")
    assert release.score == 0


@pytest.mark.parametrize("others", [[], [KAnonymity(2)]])
def test_people_who_are_absent_are_so_beside_other_models(others: list[Any]) -> None:
    """Nobody of the two people b is in the table, so b must not be seen. ARX forgets that where k is required as well."""
    people, tree = pl.DataFrame({"q": list("aaaabb")}), unveil.Hierarchy("q", [["a", "*"], ["b", "*"]])
    release = unveil.anonymize(people[:2], {"q": tree}, [DeltaPresence(0.2, 0.6), *others], population=people)
    assert release.transformation == {"q": 1}
