"""Answers made of plain values: what is masked in one place is masked in all of them, and nothing follows from the rest."""

from __future__ import annotations

import pickle

from unveil.results.masking import MASK, DecidingClass, Rows, masked_parts

TOWNS = {"Lille": 40, "Metz": 30, "Paris": 20, "Ys": 2}


def towns(telling: str = "", **more: str) -> Rows:
    rows = [{"town": town, **more, "count": n, "dr": 0.5, "posterior": 0.1} for town, n in TOWNS.items()]
    return Rows(rows, {"town": "town"}, list(TOWNS.values()), [town == telling for town in TOWNS])


def test_a_value_that_discloses_in_one_table_is_masked_in_the_others() -> None:
    found, hidden = masked_parts({"by illness": towns("Metz"), "by pay": towns()}, 5)
    for rows in found.values():
        assert {"Metz", "Ys"}.isdisjoint(row["town"] for row in rows)
        assert [row["town"] for row in rows].count(MASK) == 3  # and one more, the same in both
    assert [row["town"] for row in found["by illness"]] == [row["town"] for row in found["by pay"]]
    assert len(hidden["town",]) == 3


def test_the_size_of_what_is_masked_is_given_only_if_it_is_small() -> None:
    found, _ = masked_parts(towns("Metz"), 5)
    masked = [(row["count"], row["dr"], row["posterior"]) for row in found if row["town"] == MASK]
    assert sorted(masked, key=str) == [(2, 0.5, 0.1), (None, None, 0.1), (None, None, 0.1)]


def test_combinations_and_classes_with_a_masked_value_are_masked() -> None:
    pairs = Rows(
        [{"town": town, "sex": "f", "count": n} for town, n in TOWNS.items()],
        {"town": "town", "sex": "sex"},
        [2 * n for n in TOWNS.values()],
    )
    belief = {"worst_class": DecidingClass({"town": "Metz", "sex": "f"}, 60)}
    found, hidden = masked_parts({"one": towns("Metz"), "two": pairs, "belief": belief}, 5)
    assert {row["town"] for row in found["two"]} <= {row["town"] for row in found["one"]}
    assert all(row["sex"] == MASK for row in found["two"] if row["town"] == MASK)
    assert found["belief"]["worst_class"] == {"key": {}, "size": None, "masked": True}
    assert {values[1] for values in hidden["sex", "town"]} >= {values[0] for values in hidden["town",]}


def test_rows_are_lists_and_what_is_masked_stays_so() -> None:
    rows = towns("Metz")
    assert rows == list(rows)
    again = pickle.loads(pickle.dumps(rows))  # noqa: S301 - our own bytes
    assert (again, again.n, again.telling, again.attributes) == (rows, rows.n, rows.telling, rows.attributes)
    once, _ = masked_parts({"rows": rows}, 5)
    assert masked_parts(once, 40)[0] == once


def test_nothing_is_masked_where_nothing_has_to_be() -> None:
    rows = Rows([{"town": "Lille"}, {"town": "Metz"}], {"town": "town"}, [9, 9])
    assert masked_parts(rows, 5)[0] == [{"town": "Lille"}, {"town": "Metz"}]
