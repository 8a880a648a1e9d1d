"""Which columns name people outright? Direct identifiers by name and by content, each with its evidence.

A direct identifier (a name, an e-mail address, a national number, a row number that another table has too) leaves nothing to
measure: it must be removed before any table is released. Columns are judged one by one on a sample of their distinct values.
Thresholds: at least 90 % of the distinct values must read as the category (10 % if the form is as distinctive as that of an
e-mail address); a number with a check digit must pass far more often than its controls do (`controls`); a finding based on a
column's name needs values that fit it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from unveil.arguments import checked_arguments, checked_count, checked_seed
from unveil.attributes import Names, in_line, names_of, require_columns
from unveil.errors import ArgumentError
from unveil.identifiers.column import LookedColumn, numbered, read_column
from unveil.identifiers.contacts import emails, ip_addresses, mac_addresses, urls
from unveil.identifiers.dates import birth_dates
from unveil.identifiers.finding import CATEGORIES, CONFIDENCES, Finding
from unveil.identifiers.numbers import card_numbers, device_numbers, ibans, national_numbers
from unveil.identifiers.phones import phones
from unveil.identifiers.places import coordinates, postal_addresses
from unveil.identifiers.texts import account_names, free_text, person_names
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, looks
from unveil.sources import Data
from unveil.study import Study, studied

if TYPE_CHECKING:
    from unveil.sources import CodedTable

__all__ = ["DirectIdentifiers", "column_findings", "direct_identifiers", "found_among", "found_in"]

_Detector: TypeAlias = Callable[[LookedColumn], Finding | None]
_SHORTEST_NUMBER, _SHORTEST_MAC = 7, 12
"""The smallest number of characters of a person's number (leading zeros may be lost), and of a MAC address or bank account."""
_KEY = secrets.token_bytes(32)
_KNOWN: dict[bytes, tuple[Finding, ...]] = {}
"""The findings of columns examined before, by a digest of the column, because each step of a protection examines all again."""
_MOST_KNOWN, _MOST_VALUES = 1024, 1024
"""The limits of the cached findings: the number of columns, and of values in a column; longer ones are judged again."""
_MOST_FINDINGS = 3
"""The largest number of findings that are kept for one column."""
_TOGETHER = 16
"""The number of columns that are counted at once."""


@dataclass(frozen=True, slots=True, repr=False)
class DirectIdentifiers(Result):
    """The columns that look like direct identifiers.

    Attributes
    ----------
    findings
        The findings in the order of the columns, the surest of each column first.
    examined
        The columns examined.
    skipped
        Columns that do not hold single values (lists, records, bytes) and were not examined.
    records
        The number of records.
    sample, seed
        The largest number of distinct values of a column that were examined, and the seed by which they were drawn.
    """

    findings: tuple[Finding, ...]
    examined: tuple[str, ...]
    skipped: tuple[str, ...]
    records: int
    sample: int
    seed: int

    def __repr__(self) -> str:
        """Return one line: the number of columns found, and of all columns."""
        columns = dict.fromkeys(finding.column for finding in self.findings)
        return f"DirectIdentifiers({len(columns)} of {len(self.examined)} columns{': ' if columns else ''}{in_line(columns)})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "columns": list(self.examined),
            "skipped": list(self.skipped),
            "records": self.records,
            "sample": self.sample,
            "seed": self.seed,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per finding."""
        names = ("column", "category", "confidence", "share", "distinct", "records")
        columns: dict[str, Sequence[Any]] = {name: [getattr(finding, name) for finding in self.findings] for name in names}
        return {**columns, "evidence": ["; ".join(finding.evidence) for finding in self.findings]}

    def view(self) -> View:
        """Return the displayed findings with their evidence."""
        rows = tuple((f.column, f.category, f.confidence, f.share, f.distinct, "; ".join(f.evidence)) for f in self.findings)
        named = len(dict.fromkeys(finding.column for finding in self.findings))
        figures = (
            Figure("columns", len(self.examined), "looked at"),
            Figure("direct identifiers", named, "take them out before anything is released" if named else "none was recognised"),
            Figure("records", self.records),
        )
        tables = (Table(("column", "what", "confidence", "share", "distinct", "evidence"), rows),) if rows else ()
        note = "What is not found here may still identify: no list of names is consulted, and combinations are the scan's job."
        return View("Direct identifiers", figures, tables, (note,))


@looks
@checked_arguments
def direct_identifiers(data: Data, columns: Names | None = None, *, sample: int = 10_000, seed: int = 0) -> DirectIdentifiers:
    """Find the columns that name people outright, by their names and by their content.

    Parameters
    ----------
    data
        A path, the name of a built-in data set, any data frame that narwhals supports, a table in an engine, counts, a `Study`
        or a project file. Never changed.
    columns
        The columns to examine; none: all.
    sample
        The largest number of distinct values of a column to examine.
    seed
        The seed by which the sample and the controls are drawn.

    Returns
    -------
    DirectIdentifiers
        The findings, each with its category, confidence and evidence; evidence never repeats a value of the data.

    Notes
    -----
    A column with a finding need not identify anyone, and one without a finding may: names are recognised by the column's name
    and the form of the values, not by a list, and combinations of columns are the subject of `scan`.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil.identifiers import direct_identifiers
    >>> people = pl.DataFrame({"mail": [f"p{i}@example.com" for i in range(30)], "age": [20 + i % 9 for i in range(30)]})
    >>> identifiers = direct_identifiers(people)
    >>> identifiers
    DirectIdentifiers(1 of 2 columns: mail)
    >>> identifiers.findings[0].evidence
    ('100 % of 30 distinct values read as e-mail addresses', 'the column name says e-mail')
    """
    checked_count("sample", sample, least=1)
    checked_seed(seed)
    with studied(data) as study:
        wanted = study.names if columns is None else tuple(dict.fromkeys(names_of(columns)))
        if not wanted:
            raise ArgumentError("no column is named; name one, or none at all to look at every column.")
        require_columns(wanted, study.names)
        return found_in(study, wanted, sample=sample, seed=seed, strict=columns is not None)


def found_in(
    study: Study, columns: Sequence[str], *, sample: int = 10_000, seed: int = 0, strict: bool = False, quiet: bool = False
) -> DirectIdentifiers:
    """Examine columns of a study one by one, and report progress unless `quiet`.

    A column that does not hold single values is left out, or, if `strict`, refused.
    """
    if len(columns) > _TOGETHER and not study.source.can_count:
        study.collected(columns)  # all in one pass
    advance = None if quiet else active_run().counting("columns", len(columns))
    looked_at: list[DirectIdentifiers] = []
    for start in range(0, len(columns), _TOGETHER):
        some = columns[start : start + _TOGETHER]
        looked_at.append(_looked_at(study.each(some, strict=strict), some, sample, seed, advance))
    findings = tuple(finding for part in looked_at for finding in part.findings)
    examined = tuple(name for part in looked_at for name in part.examined)
    skipped = tuple(name for part in looked_at for name in part.skipped)
    return DirectIdentifiers(findings, examined, skipped, max((part.records for part in looked_at), default=0), sample, seed)


def found_among(tables: Mapping[str, CodedTable], columns: Sequence[str]) -> DirectIdentifiers:
    """Examine columns that are already counted, one row per value; the others do not hold single values."""
    return _looked_at(tables, columns, 10_000, 0, active_run().counting("columns", len(columns)))


def _looked_at(
    tables: Mapping[str, CodedTable], columns: Sequence[str], sample: int, seed: int, advance: Callable[[], None] | None
) -> DirectIdentifiers:
    """Examine columns one by one."""
    findings: list[Finding] = []
    for name in columns:
        if name in tables:
            values = tables[name].columns[0].values
            findings.extend(column_findings(name, values, _held_by(tables[name]), sample=sample, seed=seed))
        if advance is not None:
            advance()
    examined = tuple(name for name in columns if name in tables)
    skipped = tuple(name for name in columns if name not in tables)
    records = tables[examined[-1]].records if examined else 0
    return DirectIdentifiers(tuple(findings), examined, skipped, records, sample, seed)


def column_findings(
    name: str,
    values: Sequence[Any],
    records: int,
    *,
    sample: int = 10_000,
    seed: int = 0,
    today: dt.date | None = None,
) -> list[Finding]:
    """Judge one column by its distinct values; return a few findings at most, the surest first.

    Parameters
    ----------
    name
        The column's name.
    values
        The distinct values; a null may be among them (the last one if there are more than `sample`).
    records
        The number of records that hold a value.
    sample, seed
        The number of values to examine, and the seed by which they are drawn.
    today
        The day on which ages are computed; none: today.

    Examples
    --------
    >>> [(f.category, f.confidence) for f in column_findings("ip", ["192.0.2.1", "198.51.100.7", "2001:db8::1"], 3)]
    [('ip-address', 'certain')]
    """
    day = today or dt.datetime.now(tz=dt.UTC).date()
    question = _question((name, records, sample, seed, day), values) if len(values) <= _MOST_VALUES else b""
    if (known := _KNOWN.get(question)) is not None:
        return list(known)
    findings = _judged(read_column(name, values, records, sample=sample, seed=seed, today=day))
    if question:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[question] = tuple(findings)
    return findings


def _question(question: tuple[Any, ...], values: Sequence[Any]) -> bytes:
    """Return a digest of a column and the question about it, under a key of this process, so that no value is kept."""
    text = repr((question, list(map(type, values)), list(values)))
    return hashlib.blake2b(text.encode(errors="surrogatepass"), key=_KEY, digest_size=32).digest()


def _judged(column: LookedColumn) -> list[Finding]:
    """Let every detector judge a column whose form its values may have."""
    if not column.values or column.kind == "other":
        return []
    findings = [finding for detector in _telling(column) if (finding := detector(column))]
    if all(finding.confidence == "possible" for finding in findings):
        findings.extend(finding for detector in _general(column) if (finding := detector(column)))
    return _best_first(findings)


def _telling(column: LookedColumn) -> Iterator[_Detector]:
    """Yield the detectors for specific forms, without those that the kind, characters or lengths of the values rule out."""
    text = column.kind == "text"
    if text and "@" in column.signs:
        yield emails
    if text and "." in column.signs:
        yield urls
    if text and not column.signs.isdisjoint(".:"):
        yield ip_addresses
    if text and column.longest >= _SHORTEST_MAC:
        yield from (mac_addresses, ibans)
    if column.holds_dates:
        yield birth_dates
    elif column.kind in ("text", "integer") and column.longest >= _SHORTEST_NUMBER:
        yield from (card_numbers, device_numbers, national_numbers, phones)
    if column.kind in ("text", "decimal") and not column.signs.isdisjoint(".,"):
        yield coordinates
    if text and not column.holds_dates:
        yield postal_addresses


def _general(column: LookedColumn) -> Iterator[_Detector]:
    """Yield the detectors for columns that no specific form has explained."""
    if column.kind == "text":
        yield from (person_names, account_names, free_text)
    if column.kind in ("text", "integer"):
        yield numbered


def _best_first(findings: Sequence[Finding]) -> list[Finding]:
    """Sort the findings of a column by confidence, then by how specific the category is; return the first few."""
    ranked = sorted(findings, key=lambda one: (CONFIDENCES.index(one.confidence), CATEGORIES.index(one.category)))
    return ranked[:_MOST_FINDINGS]


def _held_by(table: CodedTable) -> int:
    """Count the records that hold a value: neither a null, which comes last, nor a blank text, which comes first."""
    coded, counts = table.columns[0], 0
    for at in {0, len(coded.values) - 1}:
        value = coded.values[at]
        if value is None or (isinstance(value, str) and not value.strip()):
            rows = coded.codes == at
            counts += int(np.count_nonzero(rows) if table.n is None else table.n[rows].sum())
    return table.records - counts
