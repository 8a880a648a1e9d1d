"""What does a text still reveal about its person? Known identifiers of its record, and words that no other text has."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.arguments import checked_arguments
from unveil.attributes import Names, names_of, require_columns
from unveil.errors import ArgumentError, one_line, shown
from unveil.results import Figure, Result, Table, View
from unveil.run import active_run, looks
from unveil.sources import Microdata, encode, open_microdata
from unveil.study import require_as_they_are

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from unveil.sources import Data

__all__ = ["TextLeaks", "known_forms", "leaks_of", "mark_or", "text_leaks"]

_WORD = re.compile(r"[^\W\d_]{3,}")
_MARK = re.compile(r"\[[^\[\]]*\]")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ].*)?")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TextLeaks(Result):
    """What texts still reveal about the people in them.

    Attributes
    ----------
    attribute, records
        The column of texts, and how many records have one.
    known
        For each column of known identifiers, the share of records whose text still contains its value, or a word of it.
    any_known
        The share of records whose text contains any of them; None if no column is named.
    distinctive
        The share of records whose text holds a word that occurs only in the texts of one person (or record).
    words
        How many such words a record's text holds on average.
    """

    attribute: str
    records: int
    known: Mapping[str, float]
    any_known: float | None
    distinctive: float
    words: float

    def __repr__(self) -> str:
        """Return one line: the shares."""
        known = "" if self.any_known is None else f"a known identifier in {self.any_known:.4f} of texts, "
        return f"TextLeaks({one_line(self.attribute)}: {known}a distinctive word in {self.distinctive:.4f})"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures."""
        from unveil import __version__

        return {
            "attribute": self.attribute, "records": self.records, "known": dict(self.known), "any_known": self.any_known,
            "distinctive": self.distinctive, "words": self.words, "version": __version__,
        }  # fmt: skip

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per column of known identifiers."""
        return {"known": list(self.known), "share": list(self.known.values())}

    def view(self) -> View:
        """Return what a person should see."""
        known = () if self.any_known is None else (Figure("a known identifier is in", self.any_known),)
        figures = (
            *known,
            Figure("a word of one person only is in", self.distinctive),
            Figure("such words a text", self.words),
        )
        table = Table(("known", "share of texts"), tuple(self.known.items()), bars=frozenset({"share of texts"}))
        return View(f"What texts still say: {self.attribute}", figures, (table,) if self.known else (), ())


@looks
@checked_arguments
def text_leaks(
    data: Data, attribute: str, *, known: Names | None = None, person: str | None = None, original: Data | None = None
) -> TextLeaks:
    """Measure how far texts still reveal who they are about.

    Parameters
    ----------
    data
        A path, a built-in data set or a data frame.
    attribute
        The column of texts.
    known
        Columns of the same record that say who it is about or what is known about them: name, town, date of birth. A text
        contains a value if it contains it literally, as a date in another form, or one of its words of three letters or more.
    person
        The column that says whose record it is; none: every record is of a different person.
    original
        The table with the columns of known identifiers and of persons, its records in the same order; none: `data`.

    Examples
    --------
    >>> import polars as pl
    >>> from unveil import attacks
    >>> notes = pl.DataFrame({"name": ["Ann Lee", "Bo Dahl"], "note": ["Mrs Lee has a cough", "a cough, and a fever"]})
    >>> attacks.text_leaks(notes, "note", known="name")
    TextLeaks(note: a known identifier in 0.5000 of texts, a distinctive word in 1.0000)
    """
    texts = open_microdata(data)
    about = texts if original is None else open_microdata(original)
    names = names_of(known)
    require_columns((attribute,), texts.names)
    require_columns((*names, *([person] if person else [])), about.names)
    require_as_they_are(data, (attribute,))
    require_as_they_are(data if original is None else original, (*names, *([person] if person else [])))
    if attribute in (*names, person):
        raise ArgumentError(f"{shown(attribute)} is the column of texts; name others as known.")
    if texts.records != about.records:
        raise ArgumentError(
            f"the texts are {texts.records:,} records and the original has {about.records:,}: they must be in the same order."
        )
    values = [None if value is None else str(value) for value in texts.column(attribute).to_list()]
    return leaks_of(attribute, values, about, names, person)


def leaks_of(
    attribute: str, texts: Sequence[str | None], about: Microdata, known: Sequence[str], person: str | None = None
) -> TextLeaks:
    """Measure texts against the other columns of their records."""
    run, there = active_run(), [at for at, text in enumerate(texts) if text is not None]
    columns = {name: about.column(name).to_list() for name in known}
    stands = {
        name: np.array([_stands(str(texts[at]), values[at]) for at in run.through(f"texts with {name}", there)], dtype=bool)
        for name, values in columns.items()
    }
    owners = encode(about.column(person)).codes.tolist() if person else list(range(len(texts)))
    words = _own_words([str(texts[at]) for at in there], [owners[at] for at in there])
    together = np.logical_or.reduce(list(stands.values())) if stands else None
    return TextLeaks(
        attribute, len(there), {name: _mean(shares) for name, shares in stands.items()},
        None if together is None else _mean(together), _mean(words > 0), _mean(words),
    )  # fmt: skip


def known_forms(value: Any) -> list[str]:
    """Return the forms that a known value may have in a text: the value itself, its words, or the usual forms of a date.

    Examples
    --------
    >>> known_forms("Ann van Lee"), known_forms(7), known_forms(None)
    (['Ann van Lee', 'Ann', 'van', 'Lee'], ['7'], [])
    """
    if value is None or value != value:  # noqa: PLR0124 - NaN differs from itself
        return []
    day = value if isinstance(value, dt.date) else None
    text = str(value).strip()
    if day is None and (match := _DAY.fullmatch(text)):
        try:
            day = dt.date(*map(int, match.groups()))
        except ValueError:
            day = None
    if day is not None:
        return _written_days(day)
    if isinstance(value, float) and value.is_integer():
        text = str(int(value))
    return list(dict.fromkeys(filter(None, [text, *_WORD.findall(text)])))


def mark_or(forms: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that finds marks in brackets, which must not be changed, or given forms as whole words."""
    longest = sorted(forms, key=len, reverse=True)
    return re.compile(rf"{_MARK.pattern}|(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)


def _stands(text: str, value: Any) -> bool:
    forms = known_forms(value)
    return bool(forms) and any(not _MARK.fullmatch(match[0]) for match in mark_or(forms).finditer(text))


def _own_words(texts: Sequence[str], owners: Sequence[int]) -> NDArray[np.int64]:
    """Return how many words of each text occur in the texts of its owner only."""
    run = active_run()
    words_of = [set(map(str.casefold, _WORD.findall(_MARK.sub(" ", text)))) for text in run.through("words", texts)]
    by: dict[str, set[int]] = {}
    for words, owner in zip(words_of, owners, strict=True):
        run.check()
        for word in words:
            by.setdefault(word, set()).add(owner)
    return np.array([sum(len(by[word]) == 1 for word in words) for words in words_of], dtype=np.int64)


def _written_days(day: dt.date) -> list[str]:
    year, month, at, name = day.year, day.month, day.day, _MONTHS[day.month - 1]
    written = [f"{year}-{month:02}-{at:02}", f"{year}/{month:02}/{at:02}"]
    for between in "./-":
        for one, two in ((at, month), (month, at)):
            written += [f"{one}{between}{two}{between}{year}", f"{one:02}{between}{two:02}{between}{year}"]
    for word in (name, name[:3]):
        written += [f"{at} {word} {year}", f"{word} {at}, {year}", f"{word} {at} {year}", f"{at}. {word} {year}"]
    return list(dict.fromkeys(written))


def _mean(shares: NDArray[Any]) -> float:
    return float(shares.mean()) if len(shares) else 0.0
