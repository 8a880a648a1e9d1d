"""The built-in data sets: the documents' tables, as they are printed."""

from __future__ import annotations

import polars as pl

from unveil import datasets


def test_table_2_1_of_the_thesis_is_built_in_with_ages_as_numbers() -> None:
    patients = datasets.load("thesis-2.1")
    assert patients.columns == ["ZIP", "Age", "Salary", "Disease"]
    assert patients.height == 9
    assert patients.filter((pl.col("Age") >= 35) & (pl.col("Disease") == "aids")).height == 2
