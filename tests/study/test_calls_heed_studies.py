"""What a study says holds in protections, mechanisms, pairs and losses: nulls, hierarchies, orders, kinds, weights, persons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.errors import ArgumentError, NullsError

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
