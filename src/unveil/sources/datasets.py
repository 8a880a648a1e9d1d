"""Built-in data: the Adult census, a messy table of visits, and the tables and hierarchies from the publications."""

from __future__ import annotations

import json
import lzma
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias, get_args

import narwhals as nw
import polars as pl

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.partitions import Hierarchy, Partition

__all__ = ["adult", "describe", "hierarchies", "hierarchy", "load", "names", "partition", "partitions", "published"]

Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]
"""A data frame library."""

ADULT = (
    "Adult census (Becker and Kohavi 1996, UCI Machine Learning Repository, doi:10.24432/C5XW20, CC BY 4.0); "
    "'adult' holds the 30,162 complete records, 'adult-raw' all 32,561 with nulls"
)


CLINIC = "visits to a clinic that never was, drawn from a seed: a raw file with all that is wrong with raw files"


def adult(*, complete: bool = True, backend: Backend = "polars") -> Any:
    """Return the training part of the Adult census as a data frame.

    Parameters
    ----------
    complete
        Leave out records with missing values, as in the literature (30,162 remain); otherwise return all 32,561, with nulls.
    backend
        The library of the data frame: "polars", "pandas" or "pyarrow".

    Examples
    --------
    >>> from unveil import datasets
    >>> datasets.adult().shape, datasets.adult(complete=False).shape
    ((30162, 15), (32561, 15))
    """
    frame = _adult()
    return _in_library(frame.drop_nulls().rechunk() if complete else frame.clone(), backend)


@cache
def _adult() -> pl.DataFrame:
    """Return the census, unpacked once; every caller makes a frame of its own from it."""
    packed = files("unveil.sources").joinpath("data/adult.csv.xz").read_bytes()
    return pl.read_csv(lzma.decompress(packed), null_values="?").rechunk()


@cache
def published() -> dict[str, Any]:
    """Return the tables, partitions and figures of the publications that are shipped with the package."""
    content: dict[str, Any] = json.loads(files("unveil.sources").joinpath("data/published.json").read_text("utf-8"))
    return content


def names() -> tuple[str, ...]:
    """Return the names of the built-in data sets."""
    return ("adult", "adult-raw", "clinic-raw", *published()["tables"])


@checked_arguments
def describe() -> list[dict[str, Any]]:
    """Return the name, the number of records, the columns and the origin of each built-in data set."""
    rows = []
    for name in names():
        frame = load(name)
        known = {"adult": ADULT, "adult-raw": ADULT, "clinic-raw": CLINIC}
        origin = known.get(name) or published()["origins"][name]
        rows.append({"name": name, "records": frame.height, "columns": frame.columns, "origin": origin})
    return rows


@checked_arguments
def load(name: str, *, backend: Backend = "polars") -> Any:
    """Return a built-in data set by its name.

    Examples
    --------
    >>> from unveil import datasets
    >>> datasets.load("paper-2").columns
    ['Age*', 'Disease']
    """
    if name in ("adult", "adult-raw"):
        return adult(complete=name == "adult", backend=backend)
    if name == "clinic-raw":
        from unveil.sources.clinic import clinic

        return _in_library(clinic(), backend)
    if name not in published()["tables"]:
        raise ArgumentError.not_one_of("data set", name, names())
    return _in_library(_printed(name), backend)


@checked_arguments
def partition(name: str) -> Partition:
    """Return a semantic partition from the publications by its name.

    Examples
    --------
    >>> from unveil import datasets
    >>> datasets.partition("SP2").to_dict()["blocks"]
    [['4K', '5K', '6K'], ['7K', '8K', '9K'], ['10K', '11K', '12K']]
    """
    if name not in partitions():
        raise ArgumentError.not_one_of("partition", name, partitions())
    return Partition.of(published()["partitions"][name])


def partitions() -> tuple[str, ...]:
    """Return the names of the built-in semantic partitions."""
    return tuple(published()["partitions"])


@checked_arguments
def hierarchy(name: str, *, column: str | None = None) -> Hierarchy:
    """Return a hierarchy from the publications by its name, for a column of yours.

    Examples
    --------
    >>> from unveil import datasets
    >>> datasets.hierarchy("disease", column="Disease")
    Hierarchy('Disease', 10 leaves, height 3)
    """
    if name not in hierarchies():
        raise ArgumentError.not_one_of("hierarchy", name, hierarchies())
    rows = [(value, *above) for value, above in published()["hierarchies"][name].items()]
    return Hierarchy(column, rows).with_root()


def hierarchies() -> tuple[str, ...]:
    """Return the names of the built-in hierarchies."""
    return tuple(published()["hierarchies"])


def _printed(name: str) -> pl.DataFrame:
    """Return a printed table; its entry may refer to another table, and a row may stand for many equal records."""
    table = published()["tables"][name]
    if isinstance(table, str):
        return _printed(table)
    times = table.get("times")
    if times is None:
        return pl.DataFrame(table)
    columns = {name: values for name, values in table.items() if name != "times"}
    return pl.DataFrame(
        {name: [value for value, n in zip(values, times, strict=True) for _ in range(n)] for name, values in columns.items()}
    )


def _in_library(frame: pl.DataFrame, backend: Backend) -> Any:
    if backend not in get_args(Backend):
        raise ArgumentError.not_one_of("backend", backend, get_args(Backend))
    if backend == "polars":
        return frame
    return nw.from_dict(frame.to_dict(as_series=False), backend=backend).to_native()
