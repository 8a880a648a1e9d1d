"""The attacks on synthetic data against brute force, simulations with a known answer, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.attacks.synthetic.audit_sections import Membership, SensitiveInference
from unveil.attacks.synthetic.closeness import closest, copies
from unveil.attacks.synthetic.inference import guessed, inference
from unveil.attacks.synthetic.linkability import linkability
from unveil.attacks.synthetic.membership import membership, true_positive_rate
from unveil.attacks.synthetic.nearest import Nearest
from unveil.attacks.synthetic.risk import SuccessRate, compared
from unveil.attacks.synthetic.singling_out import Predicates, _at_size, singling_out
from unveil.attacks.synthetic.tables import Trio, trio_of
from unveil.cli import run
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError
from unveil.sources import open_source
from unveil.study import Pair

RISKS = ("singling_out", "linkability", "inference", "membership")


def people(number: int, seed: int) -> pl.DataFrame:
    """People of one population: town and job hang together, age and pay do."""
    random = np.random.default_rng(seed)
    town, age = random.integers(0, 12, number), random.integers(18, 90, number)
    return pl.DataFrame(
        {
            "town": [f"t{at}" for at in town],
            "age": age,
            "job": [f"j{at}" for at in (town + random.integers(0, 4, number)) % 9],
            "pay": np.round(20.0 * age + random.normal(0, 400, number), 0),
            "sex": random.choice(["f", "m"], number),
        }
    )


def half_copied(original: pl.DataFrame, seed: int) -> pl.DataFrame:
    fresh = people(original.height, seed)
    return pl.concat([original.head(original.height // 2), fresh.tail(original.height - original.height // 2)])


def trio(original: pl.DataFrame, release: pl.DataFrame, control: pl.DataFrame, **told: Any) -> Trio:
    return trio_of(Pair(original, release, **told), open_source(control))


def gaps(one: pl.DataFrame, other: pl.DataFrame, widths: dict[str, float], names: list[str]) -> Any:
    """Every distance of one table's records to another's, a matrix, straight from the definition."""
    total = np.zeros((one.height, other.height))
    for name in names:
        mine, theirs = one[name].to_list(), other[name].to_list()
        for i, x in enumerate(mine):
            for j, y in enumerate(theirs):
                if x is None or y is None:
                    total[i, j] += 0.0 if x is None and y is None else 1.0
                elif name in widths:
                    total[i, j] += abs(x - y) / widths[name]
                else:
                    total[i, j] += x != y
    return total


def test_nearest_records_are_those_of_brute_force() -> None:
    holed = [
        table.with_columns(
            pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise(pl.col("age")).alias("age"),
            pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise(pl.col("town")).alias("town"),
        )
        for table in (people(90, 1), people(300, 2), people(60, 3))
    ]
    tables = trio(*holed)
    whole = pl.concat(holed)
    widths = {name: float(np.ptp(whole[name].drop_nulls().to_numpy())) for name in ("age", "pay")}
    for names in (["town", "age", "job", "pay", "sex"], ["sex", "age"], ["pay"]):
        index = Nearest(tables.release, [tables.names.index(name) for name in names], tables.ordered)
        found, distance = index.find(tables.original)
        true = gaps(holed[0], holed[1], widths, names)
        np.testing.assert_allclose(distance, true.min(axis=1), atol=1e-12)
        taken = index.drawn(found, np.random.default_rng(0))
        np.testing.assert_allclose(true[np.arange(90), taken], true.min(axis=1), atol=1e-12)


def test_a_tree_of_one_dominating_value_and_many_columns_is_searched() -> None:
    random = np.random.default_rng(0)
    table = pl.DataFrame({f"c{at}": (random.random(3_000) ** 40 * 9).astype(int) for at in range(60)})
    tables = trio(table.head(1_000), table.tail(1_000), table.slice(1_000, 1_000))
    assert len(Nearest(tables.release, range(60), tables.ordered).find(tables.original)[1]) == 1_000


def test_predicates_count_as_a_filter_does() -> None:
    tables = trio(
        people(200, 1).with_columns(age=pl.when(pl.col("age") > 80).then(None).otherwise("age")), people(300, 2), people(90, 3)
    )
    random = np.random.default_rng(5)
    columns = np.array([random.permutation(5)[:2] for _ in range(200)])
    codes = tables.original.codes[random.integers(0, 200, (200, 2)), columns].astype(np.int64)
    operators = np.where(codes < 0, 0, random.integers(0, 3, (200, 2)))
    found = Predicates(columns, operators, codes).counted(tables.original)
    for at in range(200):
        held = np.ones(200, dtype=bool)
        for column, operator, code in zip(columns[at], operators[at], codes[at], strict=True):
            own = tables.original.codes[:, column]
            held &= (own == code, (own <= code) & (own >= 0), own >= code)[operator]
        assert found[at] == held.sum()


@pytest.mark.parametrize("originals", [1_000, 4_000, 10_000])
def test_a_hold_out_of_another_size_is_brought_to_that_of_the_original(originals: int) -> None:
    """Predicates of known probabilities: how many hold for exactly one person is a sum of binomial probabilities."""
    random = np.random.default_rng(1)
    chance = 10.0 ** random.uniform(-6, -2.5, 3_000)
    true = float(np.mean(originals * chance * (1.0 - chance) ** (originals - 1)))
    assert _at_size(random.binomial(4_000, chance), 4_000, originals) == pytest.approx(true, abs=0.025)


def test_strangers_to_the_release_show_no_risk_and_copies_do() -> None:
    original, control = people(1_500, 1), people(1_500, 2)
    for release, copied in ((people(1_500, 3), 0.0), (half_copied(original, 4), 0.5)):
        found = unveil.attack(original, release, control=control, seed=3).to_dict()
        risks = {name: found[name] for name in (*RISKS, "singling_out")}
        for name, section in risks.items():
            assert section["low"] <= section["risk"] <= section["high"], name
            assert (section["low"] > 0.0) == (copied > 0.0), name
        assert found["copies"]["unique"]["share"] == pytest.approx(copied, abs=0.01)
        assert (found["closest"]["low"] > 0.5) == (copied > 0.0)
        assert found["global"]["risk"].keys() == {"discrimination_rate", *RISKS}


def test_inference_is_what_a_plain_simulation_of_the_attack_gains() -> None:
    original, control = people(400, 1), people(350, 2)
    release = half_copied(original, 3).sample(fraction=1.0, shuffle=True, seed=1)
    tables = trio(original, release, control, sensitive="job")
    guesses = guessed(tables, tables.original, tables.control, np.random.default_rng(0))
    found = inference(tables, tables.original, tables.control, guesses)
    whole = pl.concat([original, release, control])
    widths = {name: float(np.ptp(whole[name].drop_nulls().to_numpy())) for name in ("age", "pay")}
    jobs = np.array(release["job"].to_list())
    for name, table in (("main", original), ("control", control)):
        far = gaps(table, release, widths, ["town", "age", "pay", "sex"])
        right = [np.mean(jobs[row <= row.min() + 1e-12] == job) for row, job in zip(far, table["job"], strict=True)]
        assert found[name] == pytest.approx(float(np.mean(right)), abs=0.03)
    shares = release["job"].value_counts(normalize=True)
    by_chance = original.join(shares, on="job", how="left")["proportion"].fill_null(0.0).mean()
    assert found["baseline"] == pytest.approx(by_chance)


def test_numbers_are_guessed_within_a_twentieth() -> None:
    original = pl.DataFrame({"id": ["a", "b", "c", "d"], "pay": [100.0, 200.0, 0.0, 50.0]})
    release = pl.DataFrame({"id": ["a", "b", "c", "d"], "pay": [104.9, 211.0, 0.0, 47.5]})
    tables = trio(original, release, pl.DataFrame({"id": ["x", "y"], "pay": [1.0, 2.0]}), sensitive="pay")
    guesses = guessed(tables, tables.original, tables.control, np.random.default_rng(0))
    assert inference(tables, tables.original, tables.control, guesses)["main"] == 0.75


def test_linkability_is_what_a_plain_simulation_of_the_attack_gains() -> None:
    original, control = people(300, 1), people(250, 2)
    release = half_copied(original, 3)
    found = linkability(tables := trio(original, release, control), tables.original, tables.control)
    assert found["files"] == [["town", "job", "sex"], ["age", "pay"]]
    whole = pl.concat([original, release, control])
    widths = {name: float(np.ptp(whole[name].drop_nulls().to_numpy())) for name in ("age", "pay")}
    one, other = (gaps(original, release, widths, names) for names in found["files"])
    chances = []
    for here, there in zip(one, other, strict=True):
        mine, theirs = here <= here.min() + 1e-12, there <= there.min() + 1e-12
        chances.append((mine & theirs).sum() / (mine.sum() * theirs.sum()))
    assert found["main"] == pytest.approx(float(np.mean(chances)), abs=0.01)
    assert found["baseline"] == 1 / 300


def test_the_interval_of_a_risk_covers_it() -> None:
    """Attacks that succeed by coin: the risk behind the coins is known, and the interval holds it 19 times of 20."""
    random = np.random.default_rng(0)
    for p, p0 in ((0.5, 0.3), (0.05, 0.01), (0.9, 0.85)):
        true, held = (p - p0) / (1.0 - p0), 0
        for _ in range(400):
            rates = [SuccessRate.of(int(random.binomial(n, q)), n) for n, q in ((500, p), (300, p0))]
            found = compared(rates[0], rates[1], 0.0, 500)
            held += found["residual_low"] <= true <= found["residual_high"]
        assert held / 400 >= 0.94
    fractions = random.beta(2.0, 6.0, (400, 200))
    rates = [SuccessRate.mean(row) for row in fractions]
    assert 0.92 <= np.mean([rate.low <= 0.25 <= rate.high for rate in rates]) <= 0.99
    assert compared(SuccessRate(1.0, 0.9, 1.0), SuccessRate(1.0, 0.9, 1.0), 0.0, 10)["risk"] is None


def test_true_positive_rates_are_those_of_a_sorted_list() -> None:
    random = np.random.default_rng(2)
    members, strangers = np.round(random.normal(1, 1, 4_000), 3), np.round(random.normal(0, 1, 3_000), 3)
    threshold = np.sort(strangers)[-300]
    assert true_positive_rate(members, strangers, 0.1) == pytest.approx(np.mean(members >= threshold), abs=0.002)
    ones, zeros = np.array([1.0] * 60 + [0.0] * 40), np.array([1.0] * 5 + [0.0] * 95)
    assert true_positive_rate(ones, zeros, 0.1) == pytest.approx(0.6 + 0.4 * 0.05 / 0.95)
    assert true_positive_rate(ones, zeros, 0.01) == pytest.approx(0.6 * 0.2)


def test_levels_of_false_positives_stay_above_ten_people() -> None:
    original = people(300, 1)
    found = membership(trio(original, half_copied(original, 3), people(200, 2)), np.random.default_rng(0))
    assert [row["false_positive_rate"] for row in found["levels"]] == [0.1, 0.05]
    few = membership(trio(original, half_copied(original, 3), people(19, 2)), np.random.default_rng(0))
    assert few["risk"] is None
    assert "20 are needed" in few["reason"]


def test_copies_and_distances_are_counted() -> None:
    original, control = people(500, 1), people(400, 2)
    release = half_copied(original, 3)
    tables = trio(original, release, control)
    known, strangers, made = (set(table.rows()) for table in (original, control, release))
    found = copies(tables)
    assert found["records"] == sum(row in known for row in release.rows())
    unique = [row for row in original.rows() if original.rows().count(row) == 1 and row not in strangers]
    assert found["unique"]["people"] == len(unique)
    assert found["unique"]["copied"] == sum(row in made for row in unique)
    near = closest(tables, np.random.default_rng(0))
    assert near["compared_with"] == 400
    assert near["ratio"] < 0.8
    assert near["low"] > 0.55


def test_singling_out_says_when_no_predicate_does() -> None:
    flat = pl.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50})
    tables = trio(flat, flat, flat.with_columns(b=pl.lit("w")))
    found = singling_out(tables, 50, np.random.default_rng(0))
    assert found["risk"] is None
    assert "exactly one record" in found["reason"]


def test_sections_are_read_by_attribute_or_as_the_json_has_them() -> None:
    original = people(200, 1)
    found = unveil.attack(original, half_copied(original, 3), ["town", "age", "pay", "sex"], "job", control=people(150, 2))
    audit, written = found.synthetic, found.to_dict()
    assert {name: written[name] for name in audit} == audit.to_dict()
    assert isinstance(audit.inference, SensitiveInference)
    assert isinstance(audit.membership, Membership)
    assert audit.inference.by_sensitive is not None
    assert audit.inference.by_sensitive[0].risk == written["inference"]["by_secret"][0]["risk"]
    assert [row["secret"] for row in audit["inference"]["by_secret"]] == [audit.inference.worst] == ["job"]
    assert audit.membership.ways is not None
    best = audit.membership.ways[audit.membership.strongest][0]
    assert (best.risk, best.true_positive_rate) == (audit.membership.risk, written["membership"]["true_positive_rate"])
    assert not {"attacks", "reason"} & written["membership"].keys()
    without = unveil.attack(original, original, "town", same_order=True, link_records=False)
    assert without.synthetic.control is None
    assert without.synthetic.membership.risk is None
    assert without.masked().to_dict()["copies"] == {"reason": without.synthetic.copies["reason"]}


def test_the_command_line_gives_every_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = people(400, 1)
    tables = {"original": original, "release": half_copied(original, 3), "holdout": people(300, 2)}
    for name, table in tables.items():
        table.write_csv(tmp_path / f"{name}.csv")
    paths = [str(tmp_path / f"{name}.csv") for name in tables]
    assert run(["attack", *paths[:2], "--control", paths[2], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name in RISKS:
        assert {"risk", "low", "high", "baseline", "control", "residual"} <= found[name].keys()
    assert run(["attack", *paths[:2], "--control", paths[2]]) == 0
    shown = capsys.readouterr().out
    assert "Attacks on synthetic data" in shown
    assert "unique records of the original are in the release" in " ".join(shown.split())


def test_without_a_hold_out_it_is_said_what_cannot_be() -> None:
    found = unveil.attack(people(50, 1), people(50, 2)).to_dict()
    for name in RISKS:
        assert found[name]["risk"] is None
        assert "hold-out" in found[name]["reason"]
    aligned = unveil.attack(people(50, 1), people(50, 1), same_order=True, link_records=False).to_dict()
    assert "linkage" in aligned["membership"]["reason"]


def test_what_is_refused() -> None:
    original, release, control = people(300, 1), people(300, 2), people(200, 3)
    with pytest.raises(ColumnNotFoundError, match=r"the control: .*'sex'"):
        unveil.attack(original, release, control=control.drop("sex"))
    with pytest.raises(EmptyDataError, match="the control"):
        unveil.attack(original, release, control=control.clear())
    with pytest.raises(ArgumentError, match="'age' holds numbers in the original and texts"):
        unveil.attack(original, release.with_columns(age=pl.lit("20-30")), control=control)
    overlapping = pl.concat([control, original.head(50)])
    with pytest.raises(ArgumentError, match=r"50 records of the control's 250 are in the original too"):
        unveil.attack(original, release, control=overlapping)
    with pytest.raises(ArgumentError, match="a control measures linkage"):
        unveil.attack(original, original, control=control, same_order=True, link_records=False)


def test_equal_records_by_chance_are_no_overlap() -> None:
    coarse = [table.select("town", "sex") for table in (people(300, 1), people(300, 2), people(300, 3))]
    found = unveil.attack(coarse[0], coarse[1], control=coarse[2]).to_dict()
    assert found["control"]["equal_to_original"] == 300


def test_a_column_whose_name_is_a_pattern_is_attacked_alone() -> None:
    named, plain = [], []
    for seed in (1, 2, 3):
        table = people(300, seed).select("age", "town")
        plain.append(table)
        named.append(table.rename({"age": "^t.*$"}))
    one, other = (unveil.attack(a, b, control=c).to_dict()["singling_out"] for a, b, c in (named, plain))
    assert one["risk"] is not None
    assert {**one, "seconds": None} == {**other, "seconds": None}
