"""Options that several verbs share, and the conversion of the words of a command line to the arguments of a call."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.attributes import checked_nulls
from unveil.cli.completion import offering
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, shown
from unveil.output import cannot_write

if TYPE_CHECKING:
    from rich.progress import TaskID

    from unveil.results import Result

__all__ = [
    "SMALL", "Bounds", "ClassNullPolicy", "Data", "Encoding", "Household", "Identity", "Json", "Keep", "Key", "KeyFile",
    "MatchOptions", "Missing", "NullPolicy", "OnlyRoles", "Out", "PartitionFile", "Person", "ProjectFile", "ReleaseKeyFile",
    "Seed", "Sensitive", "Separator", "Small", "SpreadsheetSafe", "Testing", "TextColumns", "Unmasked", "Weights", "bounds_of",
    "give", "note_read", "pair_of", "read_here", "showing_progress",
]  # fmt: skip


_NULLS = ("category", "drop", "error")

read_here: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("read_here", default=())
"""The inputs that a verb has read, for the foot of a page and for hashes: the role and the place of each, the data first."""


def note_read(role: str, place: str) -> str:
    """Note that a verb reads a place, and return it."""
    read_here.set((*read_here.get(), (role, place)))
    return place


def _writable(out: Path | None) -> Path | None:
    """Refuse, before the work begins, a place to which nothing can be written."""
    if out is not None:
        from unveil.report import checked_path

        checked_path(out)
    return out


def _usable(key_file: Path | None) -> Path | None:
    """Refuse, before the work begins, an unusable key; a pipe, which can be read only once, is not checked."""
    if key_file is None:
        return None
    try:
        piped = key_file.is_fifo()
    except OSError:  # a name that no file can have, which reading the key reports
        piped = False
    if not piped:
        from unveil.randomness import read_key

        read_key(key_file)
    return key_file


Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="A file (CSV, Parquet, ...), '-', a built-in data set, or a database table such as postgresql://host/db?table=t.",
        show_default=False,
    ),
]
Key = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="COLUMN", help="A column an intruder may know; repeat it for more."),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option("--sensitive", metavar="COLUMN", help="The column to protect; default: the identity of the record."),
]
PartitionFile = Annotated[
    list[str] | None,
    typer.Option(
        "--partition",
        metavar="COLUMN=FILE",
        help="A semantic partition: a JSON or TOML file, or a name in the project.",
    ),
]
NullPolicy = Annotated[
    str | None,
    typer.Option(
        "--nulls",
        metavar="POLICY",
        help="category (a null is a value; default), drop or error.",
        autocompletion=offering(*_NULLS),
        callback=lambda policy: None if policy is None else checked_nulls(policy),
    ),
]
ClassNullPolicy = Annotated[
    str | None,
    typer.Option(
        "--nulls",
        metavar="POLICY",
        help="category (a null is a value; default), drop, error or wildcard (matches any).",
        autocompletion=offering(*_NULLS, "wildcard"),
    ),
]
Identity = Annotated[bool, typer.Option("--identity", help="Measure against record identity, whatever the project says.")]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COLUMN", help="A column of sampling weights.")]
Person = Annotated[
    str | None, typer.Option("--person", metavar="COLUMN", help="The column of persons: k, uniques and risks then count persons.")
]
Household = Annotated[
    str | None,
    typer.Option("--household", metavar="COLUMN", help="The column of households: adds household risk, and k for households."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COLUMN", help="A column you vouch for: it stays even if it may name people; repeat it."),
]
OnlyRoles = Annotated[bool, typer.Option("--only-roles", help="Leave out every column that has no role.")]
ProjectFile = Annotated[
    Path | None,
    typer.Option("--project", metavar="FILE", help="A project file; its data, roles and policies are the defaults."),
]
Separator = Annotated[str | None, typer.Option("--separator", metavar="CHAR", help="The field separator; detected by default.")]
Encoding = Annotated[str | None, typer.Option("--encoding", metavar="NAME", help="The file's encoding; default: UTF-8.")]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="For tests and studies: draws that everybody can repeat, so not for publication.",
        show_default=False,
    ),
]
Testing = Annotated[
    bool, typer.Option("--testing", help="Let differential privacy draw from a --seed: a test, with no guarantee.")
]
ReleaseKeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="A secret key: only someone who has it can repeat the draws of the release; pseudonyms are hashed with it.",
    ),
]
Missing = Annotated[
    list[str] | None, typer.Option("--missing", metavar="TEXT", help="A text that stands for a null, such as '?'.")
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="COLUMN", help="A column of codes: read as text, lost leading zeros restored; repeat it."),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="A file with a secret key; the answer then holds an HMAC of each input file.",
        callback=_usable,
    ),
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe/--no-spreadsheet-safe",
        help="In .csv files: put an apostrophe before texts that a spreadsheet would compute.",
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option("--bounds", metavar="COLUMN=LOW:HIGH", help="The smallest and the largest possible value."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON, and nothing else.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write the answer to a .html, .json, .csv, .parquet, .txt or .xlsx file.",
        callback=_writable,
    ),
]
Unmasked = Annotated[bool, typer.Option("--unmasked", help="Show every class: for the steward's own eyes, and marked as such.")]
SMALL = 5
"""The same value as in `results.masking`, which is loaded only when there is an answer."""
Small = Annotated[int, typer.Option("--small", min=1, help="Classes with fewer records are small, and masked.")]


@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The correspondence of columns and records of an original and its release."""

    mapping: Annotated[
        list[str] | None, typer.Option("--map", metavar="COLUMN=COLUMN", help="An original column and its protected counterpart.")
    ] = None
    identity: Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="A column of both that names each record.")] = (
        None
    )
    link: Annotated[str | None, typer.Option("--link", metavar="FILE", help="The private correspondence file.")] = None
    same_order: Annotated[bool, typer.Option("--same-order", help="The rows of both are in the same order.")] = False

    def pairs(self, columns: Sequence[str]) -> list[tuple[str, str]]:
        """Return the columns of the original that have another name in the release, with this name."""
        return [pair_of(text, columns, "--map", "COLUMN=COLUMN") for text in self.mapping or ()]

    def arguments(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of a call, given the columns of the original."""
        if self.link is not None:
            note_read("link", self.link)
        return {"mapping": self.pairs(columns), "id": self.identity, "link": self.link, "same_order": self.same_order}


def give(
    result: Result,
    *,
    as_json: bool,
    out: Path | None,
    spreadsheet_safe: bool = True,
    unmasked: bool = False,
    small: int = SMALL,
) -> None:
    """Write the answer to a file, print it as JSON, or show it, in displayed form: masked, unless marked as unmasked."""
    if out is not None:
        from unveil import report

        made_from = _names(read_here.get())
        report.write(result, out, spreadsheet_safe=spreadsheet_safe, unmasked=unmasked, small=small, made_from=made_from)
        sys.stderr.write(f"written: {without_credentials(out)}\n")
    if as_json:
        answer = result.displayed(unmasked=unmasked, small=small).to_dict()
        text = json.dumps(answer, ensure_ascii=not _is_unicode(sys.stdout.encoding), allow_nan=False)
        _print(lambda: sys.stdout.write(f"{text}\n"))
    elif out is None:
        _print(lambda: _show(result, unmasked=unmasked, small=small))


def _names(read: Sequence[tuple[str, str]]) -> list[str]:
    """Return the names of the inputs, each once."""
    return list(dict.fromkeys(Path(without_credentials(place)).name for _, place in read))


def _print(write: Callable[[], object]) -> None:
    """Print an answer in full, or report why that is impossible; a reader that closes the pipe, such as `head`, is no error."""
    from unveil.cli.process import turned_away

    try:
        write()
        sys.stdout.flush()
    except BrokenPipeError:
        turned_away()
    except OSError as error:
        turned_away()
        raise cannot_write("standard output", error) from error


def _show(result: Result, *, unmasked: bool, small: int) -> None:
    """Show an answer in the terminal."""
    from rich.console import Console

    from unveil.cli.application import option_words

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            raise  # noqa: PLE0704 - what rich has caught; it would end the process with exit code 1

    Terminal().print(result.in_terminal(*option_words(), unmasked=unmasked, small=small))


def _is_unicode(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("-", "").replace("_", "").startswith("utf")


@contextmanager
def showing_progress() -> Iterator[None]:
    """Show a bar for each stage, with the remaining time, on standard error, if it is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from unveil.run import active_run

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, completed=done, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        with active_run().telling(tell):
            yield


def pair_of(text: str, columns: Sequence[str], option: str, form: str) -> tuple[str, str]:
    """Split at the equals sign after a known column; either side may itself contain one."""
    splits = [(text[:at], text[at + 1 :]) for at, sign in enumerate(text) if sign == "="]
    if not splits:
        raise ArgumentError(f"{option} takes {form}, not {shown(text)}.")
    return next(((name, rest) for name, rest in splits if name in columns), splits[0])


def bounds_of(texts: Sequence[str] | None) -> dict[str, tuple[float, float]]:
    """Return the bounds by column."""
    return dict(_pair(text) for text in texts or ())


def _pair(text: str) -> tuple[str, tuple[float, float]]:
    name, _, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    try:
        return name, (float(low), float(high if colon else ""))
    except ValueError:
        raise ArgumentError("--bounds takes COLUMN=LOW:HIGH, two numbers.") from None
