"""Tables of every type and shape, held by every library and in files."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import polars as pl

from fuzz.values import KINDS, NUMBERS, TIDY, cells

__all__ = ["Table", "draw_table", "same"]

_ODD_NAMES = [
    "",
    "*",
    "^a.*$",
    "^.*$",
    "__proto__",
    " ",
    "a b",
    "n",
    "weight",
    "records",
    "é",
    "x" * 300,
    "a.b",
    "a=b",
    "a:b",
    "a,b",
    "index",
    "group",
    "level_0",
    "key",
    "value",
    "1",
    "literal",
    "len",
    "count",
    "<b>",
    "[red]",
    "a\nb",
    "a\rb",
    "a\x00b",
]
_LIBRARIES = (
    ["polars"] * 4
    + ["pandas"] * 4
    + [
        "pandas objects",
        "pandas nullable",
        "lazy",
        "lazy",
        "pyarrow",
        "pyarrow",
        "csv",
        "csv",
        "tsv",
        "parquet",
        "ndjson",
        "arrow",
        "csv.gz",
    ]
)
_TEXT_FILES = {"csv", "tsv", "csv.gz"}
_ROWS = [0, 1, 2, 3, 5, 8, 13, 30, 60, 120, 300]
_NULLABLE = {
    "i8": "Int8",
    "i16": "Int16",
    "i32": "Int32",
    "i64": "Int64",
    "u8": "UInt8",
    "u64": "UInt64",
    "f64": "Float64",
    "flag": "boolean",
    "text": "string",
    "word": "string",
    "small": "Int64",
}


@dataclass(slots=True)
class Table:
    """A table in the hands of a library, and the cells that it was made of."""

    data: Any
    library: str
    kinds: dict[str, str]
    cells: dict[str, list[Any]] = field(default_factory=dict)
    """What the library itself says the cells are; columns that it cannot list are left out."""

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self.kinds)

    @property
    def rows(self) -> int:
        """How many records there are."""
        return max(map(len, self.cells.values()), default=0)

    def of(self, *kinds: str) -> list[str]:
        """The columns of some kinds."""
        return [name for name, kind in self.kinds.items() if kind in kinds]

    @property
    def numbers(self) -> list[str]:
        """The columns of numbers."""
        return self.of(*NUMBERS)

    def __str__(self) -> str:
        """Say what the table is."""
        columns = ", ".join(f"{name[:20]!r}: {kind}" for name, kind in self.kinds.items())
        return f"{self.library}({columns}; {self.rows} rows)"


def draw_table(
    rng: Random, folder: Path, *, tidy: bool, name: str = "table", library: str | None = None, most: int = 300
) -> Table:
    """Draw a table; a tidy one has the columns that people have, in sizes that can be protected."""
    library = library or rng.choice(_LIBRARIES)
    rows = min(most, rng.choice([20, 40, 80, 150, 300] if tidy else _ROWS))
    nulls = rng.choice([0.0, 0.0, 0.0, 0.05, 0.3])
    names = [name for name in _names(rng, tidy=tidy) if "\0" not in name or library not in {"parquet", "arrow", "ndjson"}]
    known = list(TIDY if tidy else KINDS)
    kinds = {column: rng.choice(known) for column in names}
    if not library.startswith("pandas"):
        kinds = {
            column: kind if KINDS[kind][0] is not None and _held(kind, library) else "word" for column, kind in kinds.items()
        }
    columns = {column: cells(rng, kind, rows, nulls) for column, kind in kinds.items()}
    return _built(library, kinds, columns, folder / name)


def same(table: Table) -> str:
    """Describe the data as it is, to see afterwards whether it changed."""
    if isinstance(table.data, pd.DataFrame):
        return repr(
            [
                (str(name), str(column.dtype), [id(cell) if column.dtype == object else cell for cell in column.array])
                for name, column in table.data.items()
            ]
        )
    if isinstance(table.data, pl.DataFrame):
        return repr((table.data.schema, table.data.shape))
    return str(table.data.stat().st_size) if isinstance(table.data, Path) else ""


def _names(rng: Random, *, tidy: bool) -> list[str]:
    number = rng.randint(2, 5) if tidy else rng.choice([0, 1, 1, 2, 3, 4, 6, 9])
    plain = ["age", "zip", "sex", "job", "city", "income", "disease", "b", "c"]
    if tidy or rng.random() < 0.6:
        return plain[:number]
    return rng.sample([*plain[:3], *_ODD_NAMES], k=number)


def _held(kind: str, library: str) -> bool:
    """Whether a library or a format can hold a kind of column."""
    if library in _TEXT_FILES:
        return kind not in {"bytes", "list", "array", "struct", "object", "nothing", "duration"}
    if library == "ndjson":
        return kind not in {"bytes", "object", "i128", "nothing", "decimal", "duration", "time"}
    if library == "pyarrow":
        return kind not in {"object", "i128"}
    return kind not in {"object", "i128"} or library in {"polars", "lazy"}


def _built(library: str, kinds: dict[str, str], columns: dict[str, list[Any]], path: Path) -> Table:
    if library.startswith("pandas"):
        frame = pd.DataFrame({name: _pandas(library, kinds[name], some) for name, some in columns.items()})
        return Table(frame, library, kinds, {name: frame[name].tolist() for name in columns})
    held = pl.DataFrame(
        [pl.Series("cells", some, dtype=KINDS[kinds[name]][0], strict=False).alias(name) for name, some in columns.items()]
    )
    if library == "polars":
        return Table(held, library, kinds, _listed(held))
    if library == "lazy":
        return Table(held.lazy(), library, kinds, _listed(held))
    if library == "pyarrow":
        numbered = pl.DataFrame([column.alias(str(at)) for at, column in enumerate(held)])  # Polars panics at a NUL in a name
        return Table(numbered.to_arrow().rename_columns(held.columns), library, kinds, _listed(held))
    place = path.with_suffix(f".{library}")
    _written(held, place, library)
    text = library in _TEXT_FILES | {"ndjson"}
    unsure = text and (len(columns) < 2 or not set(kinds.values()) <= {"small", "word", "age", "i32"})
    return Table(place, library, kinds, {} if unsure else _listed(held))


def _listed(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """List the cells, but for those that Python cannot hold."""
    found = {}
    for name in frame.columns:
        try:
            found[name] = frame.get_column(name).to_list()
        except (ValueError, OverflowError):
            continue
    return found


def _pandas(library: str, kind: str, some: list[Any]) -> pd.Series:
    if library == "pandas nullable" and kind in _NULLABLE:
        return pd.Series(some, dtype=_NULLABLE[kind])
    if library == "pandas" and kind == "category":
        return pd.Series(some, dtype="category")
    if library == "pandas" and KINDS[kind][0] is not None and not any(isinstance(cell, Decimal) for cell in some):
        return pd.Series(some) if some else pd.Series(some, dtype=object)
    return pd.Series(some, dtype=object)


def _written(frame: pl.DataFrame, path: Path, library: str) -> None:
    if library == "parquet":
        frame.write_parquet(path)
    elif library == "arrow":
        frame.write_ipc(path)
    elif library == "ndjson":
        frame.write_ndjson(path)
    elif library == "csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    else:
        frame.write_csv(path, separator="\t" if library == "tsv" else ",")
