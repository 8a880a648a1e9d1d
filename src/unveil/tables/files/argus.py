"""Files of tau-Argus: tables (.tab with an .rda file), decisions about single cells (.hst), and problems in JJ format."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unveil.errors import DataFileError, TableError
from unveil.partitions import PathLike, read_text
from unveil.results import Provenance
from unveil.tables.apriori import Apriori
from unveil.tables.cells import alone_in, cell_of, misfit, shape_of
from unveil.tables.classification import TOTAL, Classification
from unveil.tables.crosstable import CrossTable
from unveil.tables.files.hierarchies import read_hierarchy

__all__ = ["read_apriori", "read_jj", "read_tab"]

_TAG = re.compile(r"<(?P<tag>\w+)>\s*(?P<rest>.*)")
_TERM = re.compile(r"(\d+)\s*\(\s*([+-]?\d+(?:\.\d+)?)\s*\)")
_TOTALS = ("", "-", "Total", "TOTAL", "total")
_JJ_FIELDS = 9
_MANY = 1_000_000
"""The number of contributors of a cell if a file does not give it."""


# Decisions on single cells --------------------------------------------------------------------------------------------


def read_apriori(path: PathLike, dimensions: Sequence[Classification]) -> Apriori:
    """Read a tau-Argus a-priori file: the codes of a cell, then a status and perhaps numbers.

    ``u``: sensitive; ``s``: safe; ``p``: must be published; ``w`` and a number: its cost; ``pl`` and two numbers: its required
    uncertainty below and above its value. An empty code, ``-`` and ``Total`` stand for the total.
    """
    place = Path(path)
    marked: dict[str, set[tuple[str, ...]]] = {"u": set(), "s": set(), "p": set()}
    cost: dict[tuple[str, ...], float] = {}
    level: dict[tuple[str, ...], tuple[float, float]] = {}
    for number, row in enumerate(_rows(read_text(place, DataFileError)), start=1):
        codes = tuple(_code(one, dimension) for one, dimension in zip(row, dimensions, strict=False))
        rest = [one.strip().lower() for one in row[len(dimensions) :]]
        try:
            cell_of(dimensions, codes)
            _decided(codes, rest, marked, cost, level)
        except (TableError, ValueError, IndexError):
            raise DataFileError.at_line(
                place,
                number,
                "not a decision about a cell; write the codes of all dimensions, then u, s, p, w with a number, or pl with two.",
            ) from None
    return Apriori(frozenset(marked["u"]), frozenset(marked["s"]), frozenset(marked["p"]), cost, level)


def _decided(
    codes: tuple[str, ...],
    rest: Sequence[str],
    marked: dict[str, set[tuple[str, ...]]],
    cost: dict[tuple[str, ...], float],
    level: dict[tuple[str, ...], tuple[float, float]],
) -> None:
    """Record one decision."""
    match rest[0]:
        case "u" | "s" | "p":
            marked[rest[0]].add(codes)
        case "w" | "c":
            cost[codes] = float(rest[1])
        case "pl":
            level[codes] = float(rest[1]), float(rest[2])
            marked["u"].add(codes)
        case _:
            raise ValueError(rest[0])


def _code(text: str, dimension: Classification) -> str:
    text = text.strip()
    if text in dimension.place:
        return text
    if text in _TOTALS and dimension.root is not None:
        return dimension.codes[dimension.root]
    return text


def _rows(text: str, separator: str | None = None) -> list[list[str]]:
    """Return the fields of every non-empty line; the separator is detected unless it is given."""
    lines = [line for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    sign = separator or next((one for one in (";", ",", "\t") if one in first), ",")
    return [[one.strip() for one in row] for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=sign)]


# Tables ---------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Variable:
    """A column of a table, with its tags."""

    name: str
    tags: dict[str, str] = field(default_factory=dict)


def read_tab(path: PathLike, description: PathLike | None = None) -> tuple[CrossTable, Apriori]:
    """Read a tau-Argus table with its description.

    Parameters
    ----------
    path
        The ``.tab`` file: one line per cell.
    description
        The ``.rda`` file that describes its fields; by default the file with the same name beside it.

    Returns
    -------
    tuple
        The table, and the file's decisions about single cells: their status, cost and levels.
    """
    place = Path(path)
    described = place.with_suffix(".rda") if description is None else Path(description)
    general, variables = _described(read_text(described, DataFileError), described)
    rows = _rows(read_text(place, DataFileError), general.get("SEPARATOR"))
    spans = [at for at, one in enumerate(variables) if "RECODEABLE" in one.tags]
    if not spans:
        raise DataFileError(f"{described}: no variable is <RECODEABLE>, so the table has no dimension.")
    for number, row in enumerate(rows, start=1):
        if len(row) < len(variables):
            raise DataFileError.at_line(place, number, f"there are {len(row)} fields, but the description has {len(variables)}.")
    dimensions = tuple(_dimension(variables[at], [row[at] for row in rows], described.parent) for at in spans)
    shape = shape_of(dimensions)
    cells = np.array(
        [cell_of(dimensions, [_code(row[at], one) for at, one in zip(spans, dimensions, strict=True)]) for row in rows]
    )
    return _table(place, dimensions, int(np.prod(shape)), cells, rows, variables, general)


def _described(text: str, place: Path) -> tuple[dict[str, str], list[_Variable]]:
    """Return the general tags of a description, and its variables."""
    general: dict[str, str] = {}
    variables: list[_Variable] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if (match := _TAG.match(line.strip())) is None:
            variables.append(_Variable(line.split()[0]))
        else:
            tags = variables[-1].tags if variables else general
            tags[match["tag"].upper()] = match["rest"].strip().strip('"')
    if not variables:
        raise DataFileError(f"{place}: there are no variables in the description.")
    return general, variables


def _dimension(variable: _Variable, codes: Sequence[str], folder: Path) -> Classification:
    total = variable.tags.get("TOTCODE") or TOTAL
    if "HIERCODELIST" in variable.tags:
        hierarchy = read_hierarchy(folder / variable.tags["HIERCODELIST"], variable.name, total)
        return Classification.of(variable.name, [hierarchy], total=total)
    present = [code for code in dict.fromkeys(codes) if code != total and not (code in _TOTALS and code != total)]
    return Classification.flat(variable.name, present, total=total)


def _table(
    place: Path,
    dimensions: tuple[Classification, ...],
    size: int,
    cells: Any,
    rows: list[list[str]],
    variables: Sequence[_Variable],
    general: dict[str, str],
) -> tuple[CrossTable, Apriori]:
    """Build the table from the fields."""
    columns = {tag: at for at, one in enumerate(variables) for tag in one.tags}
    scores = [at for at, one in enumerate(variables) if "MAXSCORE" in one.tags]

    def amounts(at: int) -> Any:
        column = np.zeros(size)
        try:
            column[cells] = [float(row[at] or 0) for row in rows]
        except ValueError:
            raise DataFileError(f"{place}: column {variables[at].name!r} has entries that are not numbers.") from None
        return column

    value = amounts(columns["RESPONSE"]) if "RESPONSE" in columns else None
    frequency = next((columns[tag] for tag in ("FREQUENCY", "FREQ") if tag in columns), None)
    if frequency is None and value is None:
        raise DataFileError(f"{place}: no variable is <RESPONSE> or <FREQUENCY>, so the table has no figures.")
    if frequency is None:
        n, holder = np.asarray(value != 0, dtype=np.int64), None
        units = n * _MANY  # contributors are unknown, so nobody is known to be the only one
    else:
        n = units = np.rint(amounts(frequency)).astype(np.int64)
        whole = n.reshape([len(one) for one in dimensions])
        holder = alone_in(dimensions, whole[np.ix_(*[list(one.leaves) for one in dimensions])])
    top = np.stack([amounts(at) for at in scores], axis=1) if scores else None
    names = () if value is None else (variables[columns["RESPONSE"]].name,)
    made = Provenance(int(n.max(initial=0)), "category", sensitive=names)
    table = CrossTable(dimensions, n, units, value=value, size=value, top=top, holder=holder, made=made)
    _require_sums(table, ([] if value is None else [value]) + ([] if frequency is None else [n.astype(np.float64)]))
    return table, _decisions(table, cells, rows, columns, general)


def _require_sums(table: CrossTable, figures: Sequence[Any]) -> None:
    """Refuse a table whose totals are not the sums of their parts."""
    for some in figures:
        if (wrong := misfit(table.equations(), some)) is not None:
            raise TableError.does_not_add_up(table.name_of(wrong[0]), *wrong[1:])


def _decisions(table: CrossTable, cells: Any, rows: list[list[str]], columns: dict[str, int], general: dict[str, str]) -> Apriori:
    """Return the file's decisions about single cells."""
    codes = [tuple(one.values()) for one in table.codes_of(np.asarray(cells))]
    words = {general.get(tag, word).upper(): kind for tag, word, kind in (("UNSAFE", "U", "u"), ("PROTECT", "P", "p"))}
    marked: dict[str, set[tuple[str, ...]]] = {"u": set(), "p": set()}
    if "STATUS" in columns:
        for one, row in zip(codes, rows, strict=True):
            if (kind := words.get(row[columns["STATUS"]].upper())) is not None:
                marked[kind].add(one)
    cost = {one: float(row[columns["COST"]]) for one, row in zip(codes, rows, strict=True)} if "COST" in columns else {}
    level: dict[tuple[str, ...], tuple[float, float]] = {}
    if "LOWERPL" in columns and "UPPERPL" in columns:
        level = {
            one: (float(row[columns["LOWERPL"]]), float(row[columns["UPPERPL"]])) for one, row in zip(codes, rows, strict=True)
        }
    return Apriori(frozenset(marked["u"]), frozenset(), frozenset(marked["p"]), cost, level)


# Problems -------------------------------------------------------------------------------------------------------------


def read_jj(path: PathLike) -> tuple[CrossTable, Apriori]:
    """Read a problem in JJ format: cells with value, cost, status, bounds and levels, then equations.

    Returns
    -------
    tuple
        A table of one dimension, whose codes are the numbers of the cells, and the file's decisions about each.
    """
    place = Path(path)
    lines = [line.strip() for line in read_text(place, DataFileError).splitlines() if line.strip()]
    try:
        number = int(lines[1])
        cells = [_cell(line) for line in lines[2 : 2 + number]]
        equations = [_equation(line) for line in lines[3 + number : 3 + number + int(lines[2 + number])]]
    except (ValueError, IndexError):
        raise DataFileError(
            f"{place}: this is not a problem in JJ format, which lists the cells, one per line, and then the equations."
        ) from None
    if [one[0] for one in cells] != list(range(number)):
        raise DataFileError(f"{place}: the cells are not numbered from 0.")
    codes = tuple(str(one[0]) for one in cells)
    totals = {total for total, _ in equations}
    leaves = tuple(at for at in range(number) if at not in totals)
    dimension = Classification("cell", codes, (0,) * number, leaves, tuple(equations))
    value = np.array([one[1] for one in cells])
    n = (value != 0).astype(np.int64)
    table = CrossTable(
        (dimension,), n, n * 2, value=value, size=value, signed=True, made=Provenance(0, "category", sensitive=("value",))
    )
    _require_sums(table, [value])
    by = {status: frozenset((str(one[0]),) for one in cells if one[3] == status) for status in ("u", "z", "p")}
    return table, Apriori(
        by["u"],
        frozenset((str(one[0]),) for one in cells if one[3] == "s"),
        by["z"] | by["p"],
        {(str(one[0]),): one[2] for one in cells},
        {(str(one[0]),): (one[6], one[7]) for one in cells if one[3] == "u"},
        {(str(one[0]),): one[8] for one in cells if one[3] == "u" and one[8] > 0},
        {(str(one[0]),): (one[4], one[5]) for one in cells},
    )


def _cell(line: str) -> tuple[int, float, float, str, float, float, float, float, float]:
    """Read a cell: number, value, cost, status, bounds, levels below and above, width."""
    fields = line.split()
    if len(fields) < _JJ_FIELDS:
        raise ValueError(line)
    numbers = [float(one) for one in (*fields[1:3], *fields[4:_JJ_FIELDS])]
    return int(fields[0]), numbers[0], numbers[1], fields[3].lower(), *numbers[2:7]  # type: ignore[return-value]


def _equation(line: str) -> tuple[int, tuple[int, ...]]:
    """Read an equation, and return its total and its parts."""
    left, _, right = line.partition(":")
    terms = [(int(cell), float(factor)) for cell, factor in _TERM.findall(right)]
    if float(left.split()[0]) != 0 or len(terms) != int(left.split()[1]):
        raise ValueError(line)
    for sign in (-1, 1):
        totals = [cell for cell, factor in terms if factor == sign]
        parts = tuple(cell for cell, factor in terms if factor == -sign)
        if len(totals) == 1 and len(parts) == len(terms) - 1:
            return totals[0], parts
    raise ValueError(line)
