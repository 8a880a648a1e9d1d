"""Crosstabs read from files: codes of the last dimension across, those of the others in one column, separated by slashes.

The file does not name the dimension across, so the caller must name the dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unveil.attributes import in_line
from unveil.errors import TableError

if TYPE_CHECKING:
    from unveil.sources import Source

__all__ = ["crosstab_cells", "is_crosstab"]

_BETWEEN = " / "


def is_crosstab(source: Source, by: Sequence[str]) -> bool:
    """Whether the columns are those of a crosstab with the given dimensions."""
    names = source.names
    if not by or len(names) <= 1:
        return False
    if len(by) > 1:
        return names[0] == _BETWEEN.join(by[:-1]) and by[-1] not in names
    return names[0] == by[0] and source.collect([by[0]])[by[0]].to_list() in ([None], [""])


def crosstab_cells(source: Source, by: Sequence[str]) -> tuple[dict[str, list[Any]], list[Any]]:
    """Return the cells of a crosstab one by one: the code of each along every dimension, and its entry."""
    label, *across = source.names
    frame = source.collect(list(source.names))
    labels = frame[label].to_list()
    down = [[] if len(by) == 1 else _codes(one, len(by) - 1) for one in labels]
    if wrong := sum(len(one) != len(by) - 1 for one in down):
        raise TableError(
            f"{wrong:,} rows of the crosstab do not begin with one code for each of: {in_line(by[:-1])}; a table with one row "
            "per cell says which is which."
        )
    columns = [frame[name].to_list() for name in across]
    codes = {name: [row[at] for row in down for _ in across] for at, name in enumerate(by[:-1])}
    codes[by[-1]] = across * len(down)
    return codes, [column[at] for at in range(len(down)) for column in columns]


def _codes(label: Any, dimensions: int) -> list[str]:
    """Return the codes in the label of a row; a single code may contain the separator."""
    text = "" if label is None else str(label)
    return [text] if dimensions == 1 else text.split(_BETWEEN)
