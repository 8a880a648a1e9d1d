"""What does a column hold, and does it number the records, or give each a code of its own?

The hints of its name and a sample of its distinct values as text are ready for the detectors. Values are drawn without
replacement and in random order, so that a test which fails on the first few hundred can stop there. The kind of the values, their
characters and their lengths rule most tests out before a single one is run.

A code need not be a name to identify: anyone who has another table with the same code knows the person. Codes are distinguished
from measurements by their form (constant length, letters between digits) and because nearly every record has a code of its own.
A continuous figure may be unique too, so decimals never count, and integers only if they are consecutive, all of one length, or
if the column's name suggests a code.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np

from unveil.identifiers.dates import DatesRead, read_dates
from unveil.identifiers.finding import Category, Confidence, Finding, percent
from unveil.naming import hints_of
from unveil.run import in_blocks
from unveil.sources import Integers, OneType

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEW", "MOST", "Kind", "LookedColumn", "Test", "numbered", "read_column"]

MOST = 0.9
"""The share of the distinct values from which a column is said to hold something: one value in ten may be faulty."""
FEW = 0.1
"""The share from which some values are worth a remark, if their form is as distinctive as that of an e-mail address."""

_SCREEN = 200
"""The number of values of which some must pass a test before it is run on all."""
_LONGEST = 2_000
"""The number of characters of a text that are examined."""
_LARGEST_WHOLE = 1 << 63

_THREE_DIGITS = re.compile(r"\d\D*\d\D*\d")
"""No date is written with fewer digits."""
_FIRST_DAY, _LAST_DAY = 18_000_101, 20_991_231
"""The limits of the integers that are read as a year, a month and a day."""
_HALF = 0.5

Kind: TypeAlias = Literal["text", "integer", "decimal", "date", "other"]
Test: TypeAlias = Callable[[str], object]


@dataclass(frozen=True)
class LookedColumn:
    """A column as the detectors see it.

    Attributes
    ----------
    name, hints
        The column's name, and its hints (keys of `names.HINTS`).
    kind
        "integer" includes decimals that are all integers, "text" anything mixed, "other" values that identify nobody
        (booleans).
    values
        The examined values, in random order, without nulls and blanks.
    distinct, records
        The number of distinct values, and the number of records that hold a value.
    seed, today
        The seed of the random controls, and the day on which ages are computed.
    whole
        The values of an integer column from which these were drawn.
    """

    name: str
    hints: frozenset[str]
    kind: Kind
    values: Sequence[Any]
    distinct: int
    records: int
    seed: int
    today: dt.date
    whole: Sequence[Any] = field(default=(), repr=False)
    screens: dict[int, list[str]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def first_texts(self) -> list[str]:
        """The first few hundred values as text, stripped and truncated: most tests stop after them."""
        return [_text_of(value) for value in self.values[:_SCREEN]]

    @cached_property
    def longest(self) -> int:
        """The length of the longest of the first few hundred texts."""
        return max(map(len, self.first_texts), default=0)

    @cached_property
    def signs(self) -> frozenset[str]:
        """The characters of the first few hundred texts."""
        return frozenset("".join(self.first_texts))

    @cached_property
    def low(self) -> int:
        """The smallest of all values of an integer column."""
        drawn: int = min(self.values)
        return min(drawn, _end(self.whole, drawn))

    @cached_property
    def high(self) -> int:
        """The largest of all values of an integer column."""
        drawn: int = max(self.values)
        return max(drawn, _end(self.whole[::-1], drawn))

    @cached_property
    def texts(self) -> list[str]:
        """All examined values as text."""
        return self.first_texts + [_text_of(value) for block in in_blocks(self.values[_SCREEN:]) for value in block]

    @cached_property
    def uniqueness(self) -> float:
        """Distinct values per record: 1 if no two records share a value."""
        return self.distinct / max(self.records, self.distinct, 1)

    @cached_property
    def dates(self) -> DatesRead:
        """The values read as dates."""
        return read_dates(self)

    @cached_property
    def holds_dates(self) -> bool:
        """Whether nearly all values are dates."""
        return self._may_hold_dates() and self.dates.share >= MOST

    def _may_hold_dates(self) -> bool:
        """Whether enough of the first values could be dates; an integer could be one if its eight digits begin with a year."""
        if self.kind == "integer":
            first = self.values[:_SCREEN]
            return sum(1 for value in first if _FIRST_DAY <= value <= _LAST_DAY) >= _HALF * len(first)
        return self.kind == "date" or sum(map(_has_three_digits, self.first_texts)) >= _HALF / 2 * len(self.first_texts)

    def says(self, *hints: str) -> bool:
        """Whether the name gives one of these hints."""
        return not self.hints.isdisjoint(hints)

    def share(self, test: Test, texts: Sequence[str] | None = None) -> float:
        """Return the share of the texts that pass the test; from the first few hundred alone if hardly any of them do."""
        if not self.values:
            return 0.0
        first = self.first_texts if texts is None else texts[:_SCREEN]
        passed = sum(1 for text in first if test(text))
        if passed < FEW / 2 * len(first):
            return passed / len(first)
        others = (self.texts if texts is None else texts)[_SCREEN:]
        passed += sum(1 for block in in_blocks(others) for text in block if test(text))
        return passed / len(self.values)

    def seen(self, share: float, what: str) -> str:
        """Return, in words, the share of the distinct values for which something holds."""
        if len(self.values) < self.distinct:
            return f"{percent(share)} of a sample of {len(self.values):,} from {self.distinct:,} distinct values {what}"
        return f"{percent(share)} of {self.distinct:,} distinct values {what}"

    def finding(self, category: Category, confidence: Confidence, share: float, *evidence: str) -> Finding:
        """Return a finding about this column; empty pieces of evidence are left out."""
        kept = tuple(piece for piece in evidence if piece)
        return Finding(self.name, category, confidence, kept, share, self.distinct, self.records)

    def name_says(self, what: str, *hints: str) -> str:
        """Return, in words, that the column's name gives one of the hints; empty if it does not."""
        return f"the column name says {what}" if self.says(*hints) else ""


def read_column(name: str, values: Sequence[Any], records: int, *, sample: int, seed: int, today: dt.date) -> LookedColumn:
    """Draw the sample and describe it; if there are more than `sample` values, a null must come last, as in a coded column."""
    number = len(values)
    if number and _is_missing(values[-1]):
        number -= 1
    order = np.random.default_rng(seed).permutation(number)[:sample]
    drawn = _Drawn(values, order) if isinstance(values, tuple | Integers) else _taken(values, order.tolist())
    plain = number > 0 and _types(values, number, drawn) == {int}
    if not plain:
        drawn = [value for block in in_blocks(drawn) for value in block if not _is_missing(value)]
    if len(order) == number:
        number = len(drawn)
    kind = "integer" if plain else _kind_of(drawn)
    if kind == "integer" and not plain:
        drawn = [int(value) for value in drawn]
    return LookedColumn(name, hints_of(name), kind, drawn, number, max(records, number), seed, today, values)


def _types(values: Sequence[Any], number: int, drawn: Sequence[Any]) -> set[type]:
    """Return the types of the first values, or of those drawn from a dictionary that is not in memory."""
    if isinstance(values, OneType | Integers):
        return set(map(type, values[: min(number, 1)]))
    return set(map(type, values[:number] if isinstance(values, tuple) else drawn))


class _Drawn(Sequence[Any]):
    """A sample of values, each of which is taken on access."""

    __slots__ = ("_order", "_values")

    def __init__(self, values: Sequence[Any], order: NDArray[np.int64]) -> None:
        self._values, self._order = values, order

    def __len__(self) -> int:
        """Return the number of values in the sample."""
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        """Return a value, or several."""
        return _taken(self._values, self._order[at].tolist()) if isinstance(at, slice) else self._values[int(self._order[at])]

    def __iter__(self) -> Iterator[Any]:
        """Take all values at once."""
        return iter(self[:])


def _taken(values: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """Return the values at some positions, by one call for all."""
    return list(itemgetter(*places)(values)) if len(places) > 1 else [values[at] for at in places]


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return not value or value.isspace()
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, float) and math.isnan(value))


def _kind_of(values: Sequence[Any]) -> Kind:
    types = {type(value) for value in values}
    if not types or types <= {bool}:
        return "other"
    if all(issubclass(kind, dt.date) for kind in types):
        return "date"
    if all(issubclass(kind, dt.time | dt.timedelta) for kind in types):
        return "other"
    if bool not in types and all(issubclass(kind, int | float | Decimal | np.number) for kind in types):
        return "integer" if all(_is_whole(value) for value in values) else "decimal"
    return "text"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (abs(value) < _LARGEST_WHOLE and value == int(value))


def _text_of(value: Any) -> str:
    if isinstance(value, dt.date):
        return value.isoformat()
    text = str(value)
    return text if isinstance(value, int) and len(text) <= _LONGEST else text[:_LONGEST].strip()


def _has_three_digits(text: str) -> bool:
    return len(text) > 2 and (text.isdecimal() or _THREE_DIGITS.search(text) is not None)  # noqa: PLR2004 - three digits


def _end(values: Sequence[Any], otherwise: int) -> int:
    """Return the first integer: a coded column is sorted, and has only infinity and null beyond its integers."""
    return int(next((value for value in values if not _is_missing(value) and _is_whole(value)), otherwise))


_UUID = re.compile(r"\{?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\}?", re.IGNORECASE)
_HASH = re.compile(
    r"(?=.*[a-f])(?=.*\d)(?:[0-9a-f]{24}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?=.*\d)[^\W_]+(?:[-_/.:#+=]+[^\W_]+)*=*")
_FIGURE = re.compile(
    r"[-+]?[\d ]*[.,]\d+"  # a decimal
    r"|\d{1,4}[^\W\d_]{1,3}"  # with a unit
    r"|\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?"  # a time of day
    r"|(?:19|20)\d{2}[-/.]?[A-Z]{0,2}\d{1,2}|[A-Z]{0,2}\d{1,2}[-/.]?(?:19|20)\d{2}"  # a month, a week
    r"|(?:19|20)\d{2}[-/](?:19|20)\d{2}"  # two years
)
_DIGIT_RUN = re.compile(r"\d+")

_NEAR_UNIQUE, _UNIQUE = 0.95, 0.99
_CONSTANT = 0.98
_SHARED = 0.05
_FEWEST, _MANY = 20, 100
_SHORTEST, _LONGEST_CODE = 5, 128
_SHORTEST_NUMBER = 7
_SHORTEST_TEXT_NUMBER = 6
_DENSE = 0.99
_GAPPY = 0.5
_YEARS = (1500, 2100)
_SECONDS = (946_684_800, 2_208_988_800)
"""The years 2000 to 2040 in seconds since 1970: such integers are times, not codes."""


def numbered(column: LookedColumn) -> Finding | None:
    """Find numbers that count the records, codes that differ for nearly every record, and codes of people."""
    other = ("postcode", "quantity", "organisation-number")
    if column.kind not in ("text", "integer") or column.holds_dates or column.says(*other):
        return None
    if column.kind == "integer":
        return _row_numbers(column) or _integer_codes(column)
    return _random_codes(column) or _text_codes(column)


def _row_numbers(column: LookedColumn) -> Finding | None:
    """Find integers that count the records: each its own, without gaps."""
    if column.distinct < max(_FEWEST, column.records):
        return None
    named = column.says("id", "person-id")
    if not named and _YEARS[0] <= column.low and column.high <= _YEARS[1]:
        return None
    density = min(column.distinct / (column.high - column.low + 1), 1.0)  # infinity is not an integer, but was counted
    if density < (_GAPPY if named else _DENSE):
        return None
    what = "are consecutive" if density == 1.0 else f"fill {percent(density)} of the range they span"
    seen = f"the {column.distinct:,} integers {what}, and no two of {column.records:,} records share one"
    start = "they count from the beginning" if column.low in (0, 1) else ""
    confidence: Confidence = "likely" if named or start else "possible"
    return column.finding("row-number", confidence, 1.0, seen, start, _says_id(column))


def _random_codes(column: LookedColumn) -> Finding | None:
    """Find UUIDs and hash values, which are made to be unique, so they need not be nearly unique in the table."""
    for form, what in ((_UUID, "are UUIDs"), (_HASH, "have the length and digits of hash values")):
        share = column.share(form.fullmatch)
        if share < MOST:
            continue
        unique, many = column.uniqueness >= MOST, column.distinct >= _FEWEST
        if not (unique or (many and column.uniqueness >= _SHARED) or column.distinct >= _MANY):
            return None
        confidence: Confidence = "certain" if unique and many else "likely"
        return column.finding("code", confidence, share, column.seen(share, what), _spread(column), _says_id(column))
    return None


def _text_codes(column: LookedColumn) -> Finding | None:
    share = column.share(_is_code)
    if share < MOST or (column.says("about") and not column.says("person-id")):
        return None
    lengths = Counter(map(len, column.texts)).most_common(1)[0]
    skeletons = Counter(_DIGIT_RUN.sub("0", text) for text in column.texts).most_common(1)[0]
    digits_only = skeletons[0] == "0"
    constant = lengths[1] >= MOST * len(column.texts) and lengths[0] >= (_SHORTEST_TEXT_NUMBER if digits_only else _SHORTEST)
    prefixed = skeletons[0][0] != "0" or (_is_named(column) and not digits_only)
    alike = skeletons[1] >= MOST * len(column.texts) and lengths[0] >= _SHORTEST - 1 and prefixed
    if not (constant or alike):
        return _people_codes(column, share)
    form = f"of {lengths[0]} characters" if constant else "letters and digits in the same places"
    seen = column.seen(share, f"are codes, {form}")
    if column.uniqueness >= _NEAR_UNIQUE and column.distinct >= _FEWEST:
        confidence: Confidence = "likely" if _is_named(column) or not digits_only else "possible"
        return column.finding("code", confidence, share, seen, _spread(column), _says_id(column))
    return _people_codes(column, share)


def _integer_codes(column: LookedColumn) -> Finding | None:
    if column.uniqueness < _NEAR_UNIQUE or column.distinct < _FEWEST or column.low < 0:
        return _people_codes(column, 1.0)
    named = _is_named(column)
    if not named and _SECONDS[0] <= column.low and column.high <= _SECONDS[1]:
        return None
    width, number = Counter(map(len, column.texts)).most_common(1)[0]
    constant = number >= _CONSTANT * len(column.texts) and width >= _SHORTEST_NUMBER
    if named or (constant and column.distinct >= _MANY and column.uniqueness >= _UNIQUE):
        what = f"are integers of {width} digits" if constant else "are integers"
        share = number / len(column.texts) if constant else 1.0
        confidence: Confidence = "likely" if named else "possible"
        return column.finding("code", confidence, share, column.seen(share, what), _spread(column), _says_id(column))
    return _people_codes(column, 1.0)


def _people_codes(column: LookedColumn, share: float) -> Finding | None:
    """Find the codes of people who have several records, by the column's name alone."""
    person = column.says("person-id") or (column.says("person") and column.says("id"))
    if not person or column.says("about") or column.distinct < _FEWEST or column.uniqueness < _SHARED:
        return None
    confidence: Confidence = "likely" if column.distinct >= _MANY else "possible"
    return column.finding("code", confidence, share, "the column name says a person's number", _spread(column))


def _is_code(text: str) -> bool:
    return len(text) <= _LONGEST_CODE and _CODE.fullmatch(text) is not None and _FIGURE.fullmatch(text) is None


def _is_named(column: LookedColumn) -> bool:
    return column.says("id", "person-id", "national-number", "card-number", "device-number") and not column.says("about")


def _says_id(column: LookedColumn) -> str:
    return "the column name says an identifier" if _is_named(column) else ""


def _spread(column: LookedColumn) -> str:
    return f"{column.distinct:,} different ones in {column.records:,} records"
