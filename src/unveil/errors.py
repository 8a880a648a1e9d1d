"""Errors, worded so that the reader knows what to do next.

Every exception inherits from `UnveilError` and from the built-in exception that a caller would catch anyway. A message states
the request, the problem and the remedy. It names columns, files and lines, but never a data value, which may be personal data,
or the credentials of an address.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from unveil.credentials import hidden_in_message, without_credentials

__all__ = [
    "ArgumentError",
    "CancelledError",
    "ColumnNotFoundError",
    "CountsError",
    "DataChangedError",
    "DataFileError",
    "DataNotFoundError",
    "DuplicateColumnError",
    "EmptyDataError",
    "EngineError",
    "HierarchyError",
    "LostProcessError",
    "MissingExtraError",
    "NullsError",
    "OutputError",
    "PartitionError",
    "ProjectError",
    "TableError",
    "UndefinedMeasureError",
    "UnsupportedDataError",
    "UnveilError",
    "is_unicode",
    "listed",
    "near_miss",
    "one_line",
    "reason_of",
    "shown",
]

_LONGEST_NAME = 120
_MOST_NAMES = 12
_ESCAPES = {code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


def shown(name: object) -> str:
    """Quote a name for a message, without credentials; a very long one is truncated, so that a message stays on one line."""
    text = repr(without_credentials(name))
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}...'"


def is_unicode(text: object) -> bool:
    """Whether a text consists of whole characters; half a surrogate pair comes from bytes that are not text."""
    try:
        str(text).encode()
    except UnicodeEncodeError:
        return False
    return True


def one_line(text: str) -> str:
    """Return a text in which line breaks and control characters, which names sometimes contain, are written as escapes.

    Examples
    --------
    >>> len(one_line(f"zip{chr(10)}code").splitlines())
    1
    """
    return text.translate(_ESCAPES)


def listed(names: Iterable[object]) -> str:
    """List names for a message, the first few of many."""
    all_names = [str(name) for name in names]
    text = ", ".join(shown(name)[1:-1] for name in all_names[:_MOST_NAMES])
    more = len(all_names) - _MOST_NAMES
    return f"{text} and {more:,} more" if more > 0 else text


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return " Hint: did you mean ...?" for the known name that is closest to `name`, or nothing."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return f" Hint: did you mean {shown(by_folded[close[0]])}?" if close else ""


def reason_of(error: BaseException) -> str:
    """Return the reason why the system refused a file, a folder or an address, in words that fit into a sentence.

    Examples
    --------
    >>> reason_of(PermissionError(13, "Permission denied")), reason_of(OSError("of unknown origin"))
    ('permission denied', 'the system gives no reason')
    """
    if not isinstance(error, OSError):  # a name with a null byte, or with half a character
        return "the system does not accept this name"
    return (getattr(error, "strerror", None) or "the system gives no reason").lower()


class UnveilError(Exception):
    """The base of all exceptions that this package raises on purpose."""

    def __init__(self, *arguments: object) -> None:
        """Store the message on one line, with the credentials of any address that it names hidden."""
        super().__init__(*(one_line(hidden_in_message(one)) if isinstance(one, str) else one for one in arguments))

    def __str__(self) -> str:
        """Return the message unchanged (`KeyError` would quote it)."""
        return str(self.args[0]) if self.args else ""


class ArgumentError(UnveilError, ValueError):
    """An invalid argument, by itself or together with others."""

    @classmethod
    def no_weights(cls, column: str, wrong: int) -> ArgumentError:
        """Report weights that are not positive numbers."""
        return cls(f"{wrong:,} of the weights in column {shown(column)} are not positive numbers.")

    @classmethod
    def not_one_of(cls, name: str, value: object, known: Sequence[str]) -> ArgumentError:
        """Report a word that is not in the list of allowed ones."""
        return cls(f"{name} {shown(value)} is unknown; it is one of: {listed(known)}.{near_miss(str(value), known)}")

    @classmethod
    def no_key(cls, argument: str = "key") -> ArgumentError:
        """Report a call without key attributes."""
        return cls(f"no key attribute is named; use `{argument}` to name the columns that an intruder may know.")

    @classmethod
    def no_sensitive(cls) -> ArgumentError:
        """Report a call that protects sensitive attributes, and has none."""
        return cls("no sensitive attribute is named; use `sensitive` to name a column whose values must not be learnt.")

    @classmethod
    def no_correspondence(cls) -> ArgumentError:
        """Report two tables without a stated correspondence of their records."""
        return cls(
            "it is not known which release record came from which original record; name an id column, a correspondence file, "
            "or the same order."
        )

    @classmethod
    def key_is_sensitive(cls, column: str) -> ArgumentError:
        """Report a column that is on both sides of the question."""
        return cls(f"column {shown(column)} is named as key and as sensitive; a column cannot be both: name it on one side only.")

    @classmethod
    def several_sensitive(cls, columns: Sequence[str]) -> ArgumentError:
        """Report a study with several sensitive attributes in a call that needs one."""
        return cls(f"the study has several sensitive attributes ({listed(columns)}); name the one that is meant in the call.")

    @classmethod
    def other_database(cls, place: str) -> ArgumentError:
        """Report a release that would be written to a database other than that of the data."""
        return cls(
            f"{place}: a table is rewritten into one of its own database; name a table there, or a file (.parquet, .csv, .tsv)."
        )


class ColumnNotFoundError(UnveilError, KeyError):
    """A column that the data does not have."""

    @classmethod
    def among(cls, column: str, columns: Sequence[str]) -> ColumnNotFoundError:
        """Report the missing column, the columns that exist, and the one whose name is closest."""
        return cls(f"column {shown(column)} not found; columns are: {listed(columns)}.{near_miss(column, columns)}")


class DuplicateColumnError(UnveilError, ValueError):
    """Two columns with the same name."""

    @classmethod
    def named(cls, column: str, place: str) -> DuplicateColumnError:
        """Report the name that occurs twice."""
        return cls(f"{place}: the column name {shown(column)} occurs more than once; rename one of them.")


class DataNotFoundError(UnveilError, FileNotFoundError):
    """A file that does not exist."""


class DataFileError(UnveilError, ValueError):
    """A file that cannot be read as the expected table."""

    @classmethod
    def at_line(cls, path: object, line: int, problem: str) -> DataFileError:
        """Report a problem with its line."""
        return cls(f"{path}, line {line:,}: {problem}")


class EmptyDataError(UnveilError, ValueError):
    """A table with nothing to measure."""

    @classmethod
    def no_records(cls, place: str, *, dropped: int = 0) -> EmptyDataError:
        """Report a table without records, or one that the null policy emptied."""
        if dropped:
            return cls(f"{place}: no records are left: all {dropped:,} have a null in a named column (nulls='drop').")
        return cls(f"{place}: there are columns but no records; nothing can be measured.")


class EngineError(UnveilError, RuntimeError):
    """A database or a cluster that cannot be reached, or that could not count."""

    @classmethod
    def no_table(cls, place: str, tables: Sequence[str]) -> EngineError:
        """Report a table that does not exist, and the existing ones."""
        return cls(f"{place}: there is no such table; tables are: {listed(tables) or 'none'}.")

    @classmethod
    def no_schema(cls, place: str) -> EngineError:
        """Report a schema that does not exist."""
        return cls(f"{place}: the database has no such schema; make it first, or name another one.")

    @classmethod
    def table_exists(cls, place: str) -> EngineError:
        """Report a table that already exists; no table is ever overwritten."""
        return cls(f"{place}: this table exists already; name another one, or drop it first.")

    @classmethod
    def cancelled(cls, place: str) -> EngineError:
        """Report a query that a person, or a time limit, ended."""
        return cls(f"{place}: the query was cancelled, by a person or by a time limit; ask again.")

    @classmethod
    def failed(cls, place: str, engine: str, code: object) -> EngineError:
        """Report a query that failed, by the engine's error code: its message may quote values."""
        return cls(f"{place}: {engine} could not run the query ({code}); its own log says more.")


class DataChangedError(UnveilError, RuntimeError):
    """Data that changed during the work on it."""

    @classmethod
    def of_column(cls, column: str) -> DataChangedError:
        """Report values that did not exist before."""
        return cls(
            f"the data changed while it was being processed: column {shown(column)} holds values that were not counted. "
            "Nothing was written; run it again."
        )

    @classmethod
    def of_counts(cls, place: str) -> DataChangedError:
        """Report records that changed in content or number."""
        return cls(f"{place}: the data changed between its count and its release. Nothing was written; run it again.")

    @classmethod
    def while_counted(cls, place: str) -> DataChangedError:
        """Report records that changed in content or number between two queries about them."""
        return cls(f"{place}: the data changed while it was counted; run it again.")


class UnsupportedDataError(UnveilError, TypeError):
    """Data, or a column, of a type that cannot be counted."""

    @classmethod
    def uncountable(cls, column: str, kind: object) -> UnsupportedDataError:
        """Report a column of lists, structures or bytes."""
        return cls(
            f"column {shown(column)} holds {kind} values, which cannot be counted; leave it out, or turn it into text or numbers."
        )

    @classmethod
    def held_here(cls, place: str, instead: str) -> UnsupportedDataError:
        """Report data that only this process can access, although another process is to work on it."""
        return cls(f"{place}: its connection belongs to this process, and another cannot use it; {instead}, or collect it first.")

    @classmethod
    def no_number(cls, column: str, kind: object) -> UnsupportedDataError:
        """Report a column whose values cannot be summed."""
        return cls(f"column {shown(column)} holds {kind} values, and the values and weights of a table are numbers.")

    @classmethod
    def no_characters(cls, column: str) -> UnsupportedDataError:
        """Report a column that contains half a surrogate pair."""
        return cls(
            f"column {shown(column)} holds half a surrogate pair, in its name or its values, which is not a character; read the "
            "data in the encoding it was written in."
        )

    @classmethod
    def nul_in_name(cls, column: str) -> UnsupportedDataError:
        """Report a column whose name contains the character NUL."""
        return cls(f"the name of column {shown(column)} holds the character NUL, which few libraries accept; rename it.")

    @classmethod
    def no_text(cls, column: str, kind: object) -> UnsupportedDataError:
        """Report a column that a text file cannot hold."""
        return cls(f"column {shown(column)} holds {kind} values, which a text file cannot hold; write .parquet, or leave it out.")

    @classmethod
    def no_file(cls, column: str) -> UnsupportedDataError:
        """Report a column of mixed Python objects, which no file can hold."""
        return cls(f"column {shown(column)} holds values of several types, which a file cannot hold; turn them into text first.")

    @classmethod
    def no_arrow(cls, column: str) -> UnsupportedDataError:
        """Report a column of mixed Python objects or very long integers, which no Arrow table can hold."""
        return cls(
            f"column {shown(column)} holds values of several types, or integers of more than 64 bits, which an Arrow table "
            "cannot hold; turn them into text first."
        )


class NullsError(UnveilError, ValueError):
    """Nulls that the caller does not allow."""

    @classmethod
    def present(cls, counts: Mapping[str, int], ways: Sequence[str] = ("category", "drop")) -> NullsError:
        """Report the number of nulls in each column, and the policies that would accept them; none: the call has no policy."""
        nulls = ", ".join(f"{shown(column)} ({n:,})" for column, n in counts.items() if n)
        if not ways:
            return cls(f"nulls found in {nulls}, and this call takes none; fill them in, or leave these records out first.")
        return cls(f"nulls found in {nulls}, and nulls='error' refuses them; choose {' or '.join(map(repr, ways))}.")

    @classmethod
    def in_values(cls, column: str, n: int) -> NullsError:
        """Report records whose contribution to a table is unknown."""
        where = "1 record" if n == 1 else f"{n:,} records"
        return cls(
            f"column {shown(column)} is null in {where}, and what a record contributes to a table is a number; leave such "
            "records out (nulls='drop')."
        )

    @classmethod
    def nobodys(cls, column: str, n: int, records: int) -> NullsError:
        """Report records that belong to no person or household."""
        return cls(
            f"column {shown(column)} identifies persons or households, but {n:,} of {records:,} records have a null there; fill "
            "it in, or leave these records out (nulls='drop')."
        )


class CountsError(UnveilError, ValueError):
    """Count tables that do not fit together."""


class PartitionError(UnveilError, ValueError):
    """An invalid semantic partition: overlapping, with an empty block, or without some of the existing values."""


class HierarchyError(UnveilError, ValueError):
    """A hierarchy whose levels do not form a chain, or that lacks values."""


class ProjectError(UnveilError, ValueError):
    """A project file that cannot be read."""

    @classmethod
    def at(cls, path: object, line: int | None, key: str, problem: str) -> ProjectError:
        """Report a problem with its line and key."""
        place = f"{path}, line {line}" if line else f"{path}"
        return cls(f"{place}: {key}: {problem}")


class TableError(UnveilError, ValueError):
    """A statistical table that cannot be made, does not add up, or cannot be protected as requested."""

    @classmethod
    def no_holding(cls, column: str) -> TableError:
        """Report records that belong to no contributor."""
        return cls(f"column {shown(column)} has nulls; every record needs a holding (one that stands alone has its own).")

    @classmethod
    def no_request(cls, column: str) -> TableError:
        """Report a column that does not state who requested protection."""
        return cls(f"column {shown(column)} must say who asked for protection, with true and false, 1 and 0, or yes and no.")

    @classmethod
    def does_not_add_up(cls, cell: str, difference: float, others: int) -> TableError:
        """Report a published cell that breaks a sum, the difference, and the number of sums that other cells break."""
        more = f" ({others:,} more sums fail for other cells)" if others else ""
        return cls(f"the table does not add up: {cell} differs from the sum of the other figures by {difference:+,.6g}{more}.")

    @classmethod
    def unprotectable(cls, dimensions: str, row: int, why: str) -> TableError:
        """Report a cell that no suppression of others can protect, by its row and not by its codes, which are data values."""
        return cls(
            f"the cell in row {row:,} of the table {dimensions} (one row per cell, as in to_frame and in files) cannot be "
            f"protected even if everything that may be suppressed is: {why}."
        )

    @classmethod
    def out_of_time(cls, seconds: float, method: str) -> TableError:
        """Report that no pattern was found and audited in time."""
        quicker = "" if method == "gauss" else ", or take `method` 'gauss', which is the quickest"
        return cls(
            f"no pattern passed the audit within the `time_limit` of {seconds:g} s, so nothing is released; allow more time"
            f"{quicker}."
        )


class UndefinedMeasureError(UnveilError, ValueError):
    """A measure that has no value for this data."""


class ModelNotMetError(UnveilError, ValueError):
    """A privacy model that no release of the data meets under the given limits."""


class MissingExtraError(UnveilError, ImportError):
    """An optional dependency that is not installed."""

    @classmethod
    def needed(cls, what: str, *, extra: str) -> MissingExtraError:
        """Report the feature that needs the extra, and the way to install it."""
        return cls(f"{what} needs an optional part; install it with: pip install 'unveil[{extra}]'")

    @classmethod
    def library(cls, name: str) -> MissingExtraError:
        """Report a data frame library that is requested but not installed."""
        return cls(f"a frame of {name} needs {name}; install it with: pip install {name}")


class CancelledError(UnveilError, RuntimeError):
    """Work that was stopped because its run was cancelled or reached its time limit."""

    @classmethod
    def on_request(cls) -> CancelledError:
        """Report a run that was cancelled on request."""
        return cls("the run was cancelled.")

    @classmethod
    def late(cls, seconds: float | None) -> CancelledError:
        """Report a run that exceeded its time limit."""
        allowed = f" of {seconds:g} s" if seconds is not None else ""
        return cls(f"the run was stopped at its time limit{allowed}; allow more time, or name fewer columns.")


class LostProcessError(UnveilError, RuntimeError):
    """A process that ended without an answer."""

    @classmethod
    def ended(cls, code: int | None) -> LostProcessError:
        """Report a process that ended before it answered, by its exit code."""
        return cls(f"the process that did the work ended without an answer (exit code {code}); it may have run out of memory.")

    @classmethod
    def unsendable(cls, kind: str) -> LostProcessError:
        """Report an answer that cannot be sent from one process to another."""
        return cls(f"the process that did the work ended with a {kind}, which cannot be sent here; have it write a file instead.")


class OutputError(UnveilError, OSError):
    """A file that cannot be written."""
