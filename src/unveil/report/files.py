"""Results as files; the format follows from the file's extension."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unveil.clock import today
from unveil.errors import ArgumentError, listed, near_miss, shown
from unveil.formats import jsonable
from unveil.output import atomic_write, check_replaceable
from unveil.results import SMALL, Mark, Result, View
from unveil.run import active_run

__all__ = ["FORMATS", "checked_path", "write", "write_view"]

FORMATS = (".json", ".csv", ".parquet", ".html", ".txt", ".xlsx")
"""The extensions that `write` knows."""

_TEXT_WIDTH = 100


def write(
    result: Result,
    path: str | os.PathLike[str],
    *,
    spreadsheet_safe: bool = True,
    made_from: Sequence[str] = (),
    unmasked: bool = False,
    small: int = SMALL,
) -> Path:
    """Write a result to a file, in the format of the file's extension.

    It is written for others, so it is masked as described for `Result.displayed`.

    Parameters
    ----------
    result
        Any answer of this package.
    path
        ``.json``: the whole answer, as returned by `to_dict`. ``.csv`` and ``.parquet``: its table, as returned by `to_frame`
        (in CSV, a list is written as JSON). ``.xlsx``: that table, and every displayed table, each as a sheet. ``.html``: a
        self-contained page. ``.txt``: the terminal's output, without colour. An existing file is replaced.
    spreadsheet_safe
        Whether texts of a CSV table that a spreadsheet would interpret as formulas are preceded by an apostrophe.
    made_from
        The names of its inputs, for the foot of a page.
    unmasked, small
        Whether it is written without masking, and marked as such; otherwise classes with fewer than `small` records, or that
        reveal a sensitive value, are masked.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    ArgumentError
        If the extension is not one of these.
    OutputError
        If the file cannot be written; an existing one then stays unchanged.
    """
    run, target = active_run(), checked_path(path)
    run.check()
    if not isinstance(result, Result):
        raise ArgumentError(f"write takes an answer of this package, and an object of type {type(result).__name__} is none.")
    ending, displayed = target.suffix.lower(), result.displayed(unmasked=unmasked, small=small)
    if ending == ".csv":
        content = _csv(displayed, spreadsheet_safe=spreadsheet_safe)
    else:
        content = _html(displayed, made_from) if ending == ".html" else _CONTENT[ending](displayed)
    with atomic_write(target) as file:
        file.write(content)
        run.check()
    return target


def write_view(view: View, path: str | os.PathLike[str]) -> Path:
    """Write a view as a page (``.html``) or as text (any other extension)."""
    run, target = active_run(), Path(path)
    run.check()
    content = _html(view) if target.suffix.lower() == ".html" else _txt(view)
    with atomic_write(target) as file:
        file.write(content)
        run.check()
    return target


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return the path if, as far as can be checked beforehand, a result can be written there; else raise as `write` does.

    Call it before long work, so that the result is not lost because its file cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        if not target.suffix:
            raise ArgumentError(
                f"the file name {shown(path)} has no ending that names its form; it must be one of: {listed(FORMATS)}."
            )
        hint = near_miss(target.suffix, FORMATS)
        raise ArgumentError(
            f"the file name {shown(path)} does not end in a form of an answer; it must be one of: {listed(FORMATS)}.{hint}"
        )
    check_replaceable(target)
    return target


# The content for each extension ---------------------------------------------------------------------------------------


def _json(result: Result) -> bytes:
    text = json.dumps(result.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)
    return f"{text}\n".encode(errors="backslashreplace")  # half a surrogate pair becomes its JSON escape


def _csv(result: Result, *, spreadsheet_safe: bool) -> bytes:
    from unveil.sources import harmless, require_text

    frame = _frame(result)
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    flat = frame.with_columns(*(_as_json(frame[name]) for name in nested)).to_native()
    require_text(flat)
    text: str = (harmless(flat) if spreadsheet_safe else flat).write_csv()
    return text.encode()


def _parquet(result: Result) -> bytes:
    buffer = io.BytesIO()
    _frame(result).write_parquet(buffer)
    return buffer.getvalue()


def _xlsx(result: Result) -> bytes:
    """Return a workbook: the answer's table, then every displayed table, including those of the parts."""
    from unveil.sources import workbook

    frame = _frame(result)
    sheets: list[tuple[str, list[list[Any]]]] = [("answer", [frame.columns, *map(list, frame.rows())])]
    views = [result.view()]
    while views:
        view = views.pop(0)
        sheets += [(one.title or view.title, [list(one.columns), *map(list, one.rows)]) for one in view.tables if one.rows]
        views = [*view.parts, *views]
    numbered = {
        f"{at} {name}" if at else name: [list(map(_plain, row)) for row in rows] for at, (name, rows) in enumerate(sheets)
    }
    return workbook(numbered)


def _plain(cell: Any) -> Any:
    """Return the content of a workbook cell: a number, a text, or a list as JSON."""
    if isinstance(cell, Mark):
        return cell.text
    if isinstance(cell, list | tuple | dict):
        return json.dumps(jsonable(cell), ensure_ascii=False)
    return jsonable(cell)


def _html(shown: Result | View, made_from: Sequence[str] = ()) -> bytes:
    from unveil.report.page import page

    return page(shown, made_on=today(), made_from=made_from).encode()


def _txt(shown: Result | View) -> bytes:
    from rich.console import Console

    from unveil.results import to_rich

    buffer = io.StringIO()
    console = Console(file=buffer, width=_TEXT_WIDTH, color_system=None, force_terminal=False, force_jupyter=False, _environ={})
    console.print(to_rich(shown) if isinstance(shown, View) else shown.__rich__())
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines()).encode()


def _frame(result: Result) -> Any:
    import narwhals as nw

    return nw.from_native(result.to_frame(), eager_only=True)


def _as_json(column: Any) -> Any:
    """Return a column of lists as one of text, because CSV has no lists."""
    import narwhals as nw

    values = [None if value is None else json.dumps(jsonable(value), ensure_ascii=False) for value in column.to_list()]
    return nw.new_series(column.name, values, nw.String, backend=column.implementation)


_CONTENT = {".json": _json, ".parquet": _parquet, ".txt": _txt, ".xlsx": _xlsx}
