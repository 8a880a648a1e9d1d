"""What if a text names nobody? Redaction: recognised identifiers become their kind, known values the name of their column."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unveil.arguments import checked_arguments, checked_word
from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, shown
from unveil.identifiers import KINDS, redacted
from unveil.measures import known_forms, leaks_of, mark_or
from unveil.mechanisms.columns import CellNulls, choose
from unveil.mechanisms.door import heeds_study
from unveil.mechanisms.treatment import Treatment, treated
from unveil.randomness import chance_of
from unveil.releases import Release
from unveil.run import active_run

if TYPE_CHECKING:
    from unveil.sources import Data

__all__ = ["redact_text"]

_NO_PROMISE = (
    "Nobody can promise that a redacted text names nobody: no list of names is consulted, and what a text says in other words "
    "stays. Read a sample, and look at the words that occur only in one person's texts."
)


@heeds_study
@checked_arguments
def redact_text(
    data: Data,
    attribute: str,
    *,
    kinds: Sequence[str] | None = None,
    known: Names | None = None,
    person: str | None = None,
    nulls: CellNulls = "keep",
    keep_order: bool = False,
    seed: int | None = None,
    key_file: str | os.PathLike[str] | None = None,
) -> Release[Treatment]:
    """Replace the identifiers recognised in a column of free text by their kind in brackets.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame. Never changed.
    attribute
        The column of texts.
    kinds
        The kinds to recognise, out of "email", "url", "mac-address", "ip-address", "iban", "card-number", "date",
        "national-number", "phone", "postal-address", "postcode", "person-name" and "number"; none: all.
    known
        Columns of the same record that identify its person, such as name, town and date of birth: if the record's own text
        contains a value, as a whole, by one of its words, or as a date in another form, the column's name in brackets replaces
        it.
    person
        The column of persons, who own the records, for the figures; none: that of a study or project, or else every record
        belongs to a different person.
    nulls
        ``"keep"``: a null stays a null. ``"drop"``: leave out the records that have one. ``"error"``: refuse.
    keep_order
        Whether records stay in their order; else they are shuffled, so that their places say nothing.
    seed, key_file
        A seed for tests, a key file for those who must be able to repeat the order (see `unveil.randomness`); without either
        nobody can.

    Returns
    -------
    Release
        With the figures `replaced`, the number replaced of each kind, and before and after: `known_before` and `known_after`,
        the shares of texts that contain a known identifier of their record, `distinctive_before` and `distinctive_after`, the
        shares with a word that occurs only in one person's texts.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import mechanisms
    >>> notes = pl.DataFrame({"town": ["Bath"], "note": ["Mr John Smith of Bath, born 3 May 1980, called 020 7946 0018."]})
    >>> mechanisms.redact_text(notes, "note", known="town").data["note"].to_list()
    ['[person-name] of [town], born [date], called [phone].']
    """
    wanted = tuple(KINDS) if kinds is None else tuple(kinds)
    for kind in wanted:
        checked_word("kinds", kind, tuple(KINDS))
    chance, chosen, names = chance_of(seed, key_file), choose(data, attribute, nulls), names_of(known)
    person = chosen.records.standing.person if person is None else person
    require_columns((*names, *([person] if person else [])), chosen.records.names)
    if attribute in (*names, person):
        raise ArgumentError(f"{shown(attribute)} is the column of texts; name others as known.")
    column = chosen.column(attribute)
    texts = [None if value is None else str(value) for value in column.to_list()]
    values = {name: chosen.column(name).to_list() for name in names}
    replaced: Counter[str] = Counter()
    after = [
        None if text is None else _redacted(text, wanted, _own(values, at), replaced)
        for at, text in enumerate(active_run().through("texts", texts))
    ]
    leaks = [leaks_of(attribute, some, chosen.records, names, person) for some in (texts, after)]
    figures: dict[str, Any] = {"replaced": dict(replaced)}
    for when, leak in zip(("before", "after"), leaks, strict=True):
        figures |= {f"known_{when}": leak.any_known, f"distinctive_{when}": leak.distinctive}
    settings = {"kinds": list(wanted), "known": list(names), "person": person, "nulls": nulls}
    released = {attribute: type(column)(attribute, after)}
    return treated("redaction", chosen, released, settings, figures, chance, keep_order=keep_order, notes=(_NO_PROMISE,))


def _own(values: Mapping[str, Sequence[Any]], at: int) -> dict[str, list[str]]:
    return {name: forms for name, column in values.items() if (forms := known_forms(column[at]))}


def _redacted(text: str, kinds: Sequence[str], known: Mapping[str, list[str]], replaced: Counter[str]) -> str:
    """Redact one text: first recognised identifiers, then known values of its record."""
    clean, counts = redacted(text, kinds)
    replaced.update(counts)
    for name, forms in known.items():
        mark = f"[{name}]"

        def put(match: Any, mark: str = mark, name: str = name) -> str:
            if match[0].startswith("["):
                return str(match[0])
            replaced[name] += 1
            return mark

        clean = mark_or(forms).sub(put, clean)
    return clean
