"""The screen of opening: which table, and how is it read? A file picker, dropped files, the first rows, and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import join
from typing import Any
from urllib.parse import quote

from unveil.app.masks import masked
from unveil.app.overview import overview_job, overview_of
from unveil.app.state import Desk
from unveil.app.visit import Answer, Go, Page, Same, Screen, Visit
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, DataFileError, UnveilError
from unveil.formats import counted
from unveil.sources import SUFFIXES, ReadOptions, locate, named_part, sheet_names
from unveil.sources import names as built_in

__all__ = ["SCREEN", "readable", "within"]

_READABLE = (
    ".csv", ".tsv", ".tab", ".txt", ".gz", ".jsonl", ".ndjson", ".parquet", ".pq", ".arrow", ".ipc", ".feather",
    ".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt", ".zip", ".toml", *SUFFIXES,
)  # fmt: skip
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".gz", ".jsonl", ".ndjson")
_MOST_ENTRIES = 500
_FIRST_ROWS = 8
_MOST_COLUMNS = 60
_SEPARATORS = (("", "detect it"), (",", "comma ,"), (";", "semicolon ;"), ("\t", "tab"), ("|", "bar |"), (" ", "blank"))
_ENCODINGS = (
    ("", "detect it (UTF-8)"), ("utf-8", "UTF-8"), ("cp1252", "Windows (cp1252)"), ("latin-1", "Latin 1"), ("utf-16", "UTF-16"),
    ("mac-roman", "Mac"), ("cp850", "DOS (cp850)"), ("shift_jis", "Japanese (Shift JIS)"), ("gb18030", "Chinese (GB 18030)"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or folder of the picker."""

    name: str
    path: str
    folder: bool
    size: str


def _page(visit: Visit) -> Answer:
    desk = visit.desk
    where = within(desk.folder, visit.query.get("in", ""))
    values: dict[str, Any] = {
        "entries": _entries(desk.folder, where),
        "trail": _trail(desk.folder, where),
        "built_in": built_in(),
        "browsing": bool(visit.query.get("in")) or not desk.is_open,
        "droppable": desk.private is not None,
    }
    if not desk.is_open:
        return Page(
            "open.html",
            {**values, "preview": None},
            Same("unveil app people.csv", "import unveil\n\nstudy = unveil.Study('people.csv')"),
        )
    values |= _reading(desk)
    values["preview"] = _preview(desk, hidden=bool(visit.query.get("masked")))
    values["warnings"] = _warnings(desk)
    values["job"] = overview_job(desk)
    return Page("open.html", values, _same(desk))


def _preview(desk: Desk, *, hidden: bool) -> dict[str, Any]:
    """Return the first rows as text; if they are hidden, with every letter and digit masked."""
    opened = desk.opened
    names = opened.columns[:_MOST_COLUMNS]
    rows: Sequence[Sequence[Any]] = desk.memory.get("first rows") or []
    if not rows:
        source = opened.whole.source
        with source.held():
            first = next(iter(source.batches(names)), None)
        rows = [] if first is None else first.head(_FIRST_ROWS).rows()
        desk.memory["first rows"] = rows
    written = masked if hidden else _written
    return {
        "columns": names,
        "more": len(opened.columns) - len(names),
        "rows": [[None if value is None else written(value) for value in row] for row in rows],
        "masked": hidden,
    }


def _written(value: Any) -> str:
    return str(value)


def _reading(desk: Desk) -> dict[str, Any]:
    """Return how the file is read, for display in the form."""
    section = desk.project.data
    return {
        "is_text": desk.opened.data.lower().endswith(_TEXT),
        "sheets": _sheets(desk.opened.data),
        "sheet": named_part(desk.opened.data)[1],
        "separators": _SEPARATORS,
        "encodings": _ENCODINGS,
        "section": section,
        "missing_texts": " ".join(section.missing),
    }


def _sheets(data: str) -> list[str]:
    """Return the sheets of a workbook; none for anything else."""
    path, _ = named_part(data)
    return sheet_names(locate(path)) if path.lower().endswith(SUFFIXES) else []


def _warnings(desk: Desk) -> list[dict[str, str]]:
    """Return what the user should check before the next step: sentences, each with a possible remedy."""
    overview = overview_of(desk)
    if overview is None:
        return []
    project, warnings = desk.project, []
    for name in project.data.text:
        text = f"{name}: leading zeros that a spreadsheet dropped are put back."
        warnings.append({"text": text, "action": "zeros", "column": desk.code(name), "button": "Leave the numbers unchanged"})
    for one in overview.columns:
        decided = project.attributes.get(one.name)
        if one.proposal.role == "person" and (decided is None or decided.role == "other"):
            figures = one.proposal.alone
            text = f"Some people have several records: {one.name} has {figures.distinct if figures else 0:,} values."
            warnings.append(
                {"text": text, "action": "person", "column": desk.code(one.name), "button": "It says whose record it is"}
            )
    marks = [f"{' '.join(one.missing)} in {name}" for name, one in project.attributes.items() if one.missing]
    marks = [*project.data.missing, *marks]
    if marks:
        warnings.append({"text": f"Read as missing: {', '.join(marks)}.", "action": "", "column": "", "button": ""})
    return warnings


def _same(desk: Desk) -> Same:
    """Return how to open the same data, read in the same way."""
    section, place = desk.project.data, desk.opened.place
    options = {"separator": section.separator, "encoding": section.encoding, "missing": section.missing or None}
    stated = {name: value for name, value in options.items() if value}
    words = ["unveil", "app", place]
    lines = f"study = unveil.Study({place!r})"
    if stated:
        named = ", ".join(f"{name}={value!r}" for name, value in stated.items())
        lines = f"study = unveil.Study(unveil.source({place!r}, {named}))"
    return Same(join(words), f"import unveil\n\n{lines}")


# What the forms do ----------------------------------------------------------------------------------------------------


def _opened(visit: Visit) -> Answer:
    """Open a file of the start folder, or a built-in data set."""
    name = visit.form.get("path", "")
    return _open(visit.desk, name if name in built_in() else str(within(visit.desk.folder, name)))


def _table(visit: Visit) -> Answer:
    """Open a table of a database by its address; the password stays in the memory of this server."""
    address, password = visit.form.get("address", "").strip(), visit.form.get("password", "")
    if "://" not in address:
        raise ArgumentError("this is not the address of a table; it looks like postgresql://user@host/database?table=people.")
    return _open(visit.desk, _with_password(address, password))


def _with_password(address: str, password: str) -> str:
    scheme, _, rest = address.partition("://")
    user, at, host = rest.partition("@")
    return f"{scheme}://{user}:{quote(password, safe='')}@{host}" if password and at and ":" not in user else address


def _dropped(visit: Visit) -> Answer:
    """Open a file that was dropped, and request at once a place to keep it."""
    if visit.file is None:
        raise ArgumentError("no file was received; choose one, or drop it on the page.")
    try:
        return _open(visit.desk, str(visit.file), kept=False)
    except UnveilError:
        visit.file.unlink(missing_ok=True)
        raise


def _keep(visit: Visit) -> Answer:
    """Keep the file that was dropped below the start folder."""
    name = visit.form.get("name", "").strip()
    if not name:
        raise ArgumentError("there is no name; say where to keep the file.")
    visit.desk.keep(within(visit.desk.folder, name))
    return Go("/open", f"Kept as {name}.", "good")


def _read(visit: Visit) -> Answer:
    """Read the file in another way."""
    project = visit.desk.project
    section = replace(
        project.data,
        separator=visit.form.get("separator") or None,
        encoding=visit.form.get("encoding") or None,
        missing=tuple(dict.fromkeys(visit.form.get("missing", "").split())),
    )
    visit.desk.change(replace(project, data=section), "how the file is read")
    return Go("/open?masked=1" if visit.form.get("masked") else "/open")


def _sheet(visit: Visit) -> Answer:
    """Open another sheet of the workbook."""
    opened = visit.desk.opened
    path, _ = named_part(opened.data)
    sheet = visit.word("sheet", tuple(_sheets(opened.data)))
    return _open(visit.desk, f"{path}?sheet={sheet}", kept=opened.kept)


def _zeros(visit: Visit) -> Answer:
    """Read a column of codes as the numbers in the file."""
    project, column = visit.desk.project, visit.column("column")
    section = replace(project.data, text=tuple(name for name in project.data.text if name != column))
    visit.desk.change(replace(project, data=section), f"{column}: unchanged from the file")
    return Go("/open", f"{column} is read unchanged from the file.", "good")


def _person(visit: Visit) -> Answer:
    """Make a column the column of persons, who own the records."""
    column = visit.column("column")
    others = {name: {"role": "other"} for name in visit.desk.project.names("person")}
    visit.desk.change_attributes({**others, column: {"role": "person"}}, f"{column}: Person")
    return Go("/open", f"{column} says whose record it is.", "good")


def _open(desk: Desk, data: str, *, kept: bool = True) -> Answer:
    """Open data; text that is not UTF-8 is read as Windows text, and the user is informed."""
    note, kind = "", "good"
    sheets = _sheets(data)
    if len(sheets) > 1 and named_part(data)[1] is None:
        data = f"{data}?sheet={sheets[0]}"
        note = f" It is the first of {len(sheets):,} sheets; you can choose another below."
    try:
        desk.open(data, kept=kept, read=True)
    except DataFileError:
        if not data.lower().endswith(_TEXT):
            raise
        desk.open(data, options=ReadOptions(encoding="cp1252"), kept=kept, read=True)
        note, kind = " It is not UTF-8, so it is read as Windows text. Are all letters right?", "warning"
    opened = desk.opened
    line = f"{opened.name} is open: {counted(len(opened.columns), 'column')}, {counted(opened.whole.records, 'record')}.{note}"
    return Go("/open", line, kind)


# The picker -----------------------------------------------------------------------------------------------------------


def within(folder: Path, name: str) -> Path:
    """Return the path of a file in the start folder or below; any other is refused."""
    try:
        path = (folder / name).resolve()
        path.exists()
    except (OSError, ValueError):
        raise ArgumentError("this is not the name of a file.") from None
    if not path.is_relative_to(folder.resolve()):
        raise ArgumentError("only files in the folder where the app was started, or below it, can be opened here.")
    return path


def readable(folder: Path) -> list[str]:
    """Return the names of the files directly in a folder that can be read."""
    return [one.name for one in _entries(folder, folder) if not one.folder]


def _entries(home: Path, folder: Path) -> list[_Entry]:
    """Return the folders of a folder, and the files that can be read."""
    try:
        paths = sorted(folder.iterdir(), key=lambda path: (not path.is_dir(), path.name.casefold()))
    except OSError:
        raise ArgumentError("this folder cannot be read.") from None
    entries = []
    for path in paths:
        if path.name.startswith(".") or not (path.is_dir() or path.name.lower().endswith(_READABLE)):
            continue
        size = _size(path.stat().st_size) if path.is_file() else ""
        entries.append(_Entry(path.name, str(path.absolute().relative_to(home.resolve())), path.is_dir(), size))
        if len(entries) == _MOST_ENTRIES:
            break
    return entries


def _size(size: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":  # noqa: PLR2004 - thousands
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    raise AssertionError("there is a last unit")


def _trail(home: Path, folder: Path) -> list[tuple[str, str]]:
    """Return the path from the start folder to a folder: each name, with its path for the picker."""
    way, at = [], folder
    while at != home.resolve():
        way.append((at.name, str(at.relative_to(home.resolve()))))
        at = at.parent
    return [(without_credentials(home.resolve().name) or "/", ""), *reversed(way)]


SCREEN = Screen(
    name="open",
    title="Open",
    question="Which table?",
    page=_page,
    actions={
        "file": _opened,
        "table": _table,
        "keep": _keep,
        "reading": _read,
        "sheet": _sheet,
        "zeros": _zeros,
        "person": _person,
    },
    uploads={"dropped": _dropped},
    missing=lambda desk: "",  # noqa: ARG005 - it can always be used
)
