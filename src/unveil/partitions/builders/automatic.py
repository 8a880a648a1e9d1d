"""Which rule suits a column? Chosen by the kind and the distribution of its values, with the reason in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, count, islice
from typing import Any

import numpy as np

from unveil.errors import HierarchyError
from unveil.naming import hints_of
from unveil.partitions.builders.base import Builder, Intervals, Rare, RootOnly
from unveil.partitions.builders.codes import PostalCodes, Redaction, postal_digits
from unveil.partitions.builders.dates import UNITS, Dates
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import number_of, plain, text_of
from unveil.partitions.moments import DateReading
from unveil.partitions.rules import column_said

__all__ = ["HierarchyProposal", "propose", "propose_each"]

_FEW = 4
"""Up to this many values need no level between them and the root."""
_FINEST = 16
"""The approximate number of intervals at the finest level of numbers."""
_COARSEST = 3
"""The smallest number of groups that makes a level below the root worthwhile."""
_MOST_LEVELS = 5
_TAIL = 0.01
"""The share of records that an open end covers."""
_RARE_SHARES = (0.005, 0.02, 0.1)
_SHORTEST_CODE = 3
_MOSTLY = 0.9
"""The share of values that must be dates: one in ten may be something else."""
_FEWEST_DIGITS = 3
_SMALL_UNIT = 10
"""Up to tens, 4 is as round as 5: ages of 20 years are doubled to 40."""
_EIGHT_DIGITS = re.compile(r"(?:18|19|20)[0-9]{6}")
_CODE = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9./-]*")


@dataclass(frozen=True, slots=True)
class HierarchyProposal:
    """The hierarchy chosen for a column, the rule that made it, and the reason for that rule."""

    hierarchy: Hierarchy
    rule: Builder
    reason: str


def propose(values: Sequence[Any], counts: Sequence[int], *, column: str | None = None) -> HierarchyProposal:
    """Choose a rule by the kind and the distribution of a column's values, and build its hierarchy.

    Dates, in any form, get periods; numbers nested intervals of round widths, open at an end if few records lie far out; postal
    codes and codes of one length are shortened from the right. If the column's name suggests an identifier or a code, its
    values are not treated as numbers. For all other values nothing indicates which belong together, so only rare ones are
    merged. Levels that merge nothing are left out. A column of nulls alone has no level above them.

    Parameters
    ----------
    values
        The distinct values of the column, None for the null.
    counts
        The number of records of each.
    column
        The column's name, which may indicate the kind of its values.

    Returns
    -------
    HierarchyProposal
        The hierarchy, the rule and the reason in words.

    Examples
    --------
    >>> proposal = propose(list(range(18, 81)), [10] * 63, column="age")
    >>> proposal.rule.widths, proposal.hierarchy.height
    ((5, 10, 20, 40), 5)
    """
    if not len(values):
        raise HierarchyError(f"{column_said(column)}there are no values to build a hierarchy of.")
    pairs = [(plain(value), int(n)) for value, n in zip(values, counts, strict=True)]
    present = [(value, n) for value, n in pairs if value is not None]
    hints = hints_of(column) if column is not None else frozenset()
    rule, reason = _chosen([value for value, _ in present], np.array([n for _, n in present]), hints)
    return HierarchyProposal(rule.build([value for value, _ in pairs], [n for _, n in pairs], column=column), rule, reason)


def propose_each(columns: Mapping[str, tuple[Sequence[Any], Sequence[int]]]) -> dict[str, HierarchyProposal]:
    """Propose a hierarchy for each of several columns, given by its distinct values and the number of records of each."""
    return {name: propose(values, counts, column=name) for name, (values, counts) in columns.items()}


def _chosen(values: Sequence[Any], counts: np.ndarray[Any, Any], hints: frozenset[str]) -> tuple[Builder, str]:
    n = len(values)
    if not n:
        return RootOnly(), "every value is a null: there is nothing to make coarser"
    if n <= _FEW or all(isinstance(value, bool) for value in values):
        return RootOnly(), f"{_number_of(n, 'value')}: too few for a level between them and the root"
    return _by_form(values, hints) or _by_count(values, counts, hints)


def _by_form(values: Sequence[Any], hints: frozenset[str]) -> tuple[Builder, str] | None:
    """Choose a rule for values that are written like dates, postal codes or codes; None if they are not."""
    if (reading := _reading(values)) is not None:
        return _dates(values, reading)
    if "postcode" in hints and (builder := _postal(values)) is not None:
        return builder
    return _codes(values) if _are_codes(values) else None


def _by_count(values: Sequence[Any], counts: np.ndarray[Any, Any], hints: frozenset[str]) -> tuple[Builder, str]:
    """Choose a rule for numbers, and for values that have neither a form nor a size."""
    if "code" in hints and "quantity" not in hints:
        rule, reason = _rare(values, counts)
        return rule, f"the column name suggests a code, so its magnitude has no meaning; {reason}"
    numbers = [number for value in values if (number := number_of(value)) is not None and number.is_finite()]
    return _intervals(numbers, counts) if len(numbers) == len(values) else _rare(values, counts)


def _reading(values: Sequence[Any]) -> DateReading | None:
    """Return the reading of the values as dates; None if more than a few are not dates (years alone are numbers)."""
    if all(isinstance(value, int | float | Decimal) for value in values) and not all(
        _EIGHT_DIGITS.fullmatch(str(v)) for v in values
    ):
        return None
    reading = DateReading.of(values)
    return reading if reading.share(values) >= _MOSTLY else None


def _are_codes(values: Sequence[Any]) -> bool:
    """Whether all values are texts of one length with a digit in each; for plain numbers, one must begin with a zero."""
    texts = [value for value in values if isinstance(value, str) and _CODE.fullmatch(value)]
    alike = len(texts) == len(values) and len({*map(len, texts)}) == 1 and len(texts[0]) >= _SHORTEST_CODE
    numeric = alike and all(number_of(text) is not None for text in texts)
    return alike and (not numeric or any(text.startswith("0") for text in texts))


def _dates(values: Sequence[Any], reading: DateReading) -> tuple[Builder, str]:
    calendar = tuple(unit for unit in UNITS if unit != "week")
    dated = [value for value in values if reading.read(value) is not None]
    others = len(values) - len(dated)
    orders = {*reading.day_first.values()}
    rule = Dates(
        calendar, day_first=orders.pop() if len(orders) == 1 else None, rest=_free(values, "no date") if others else None
    )
    useful = _useful(rule.build(dated), least=2)
    if not useful:
        return RootOnly(), "dates so close together that no period has a part of them"
    units = tuple(calendar[level - 1] for level in useful)
    reasons = [f"dates: by {', '.join(units)}; periods that merge nothing, or everything, are left out"]
    if others:
        reasons.append(f"kept separate: {_number_of(others, 'value')} that cannot be read as a date")
    return replace(rule, units=units), "; ".join(filter(None, [*reasons, reading.in_words()]))


def _codes(values: Sequence[str]) -> tuple[Builder, str]:
    useful = _useful(Redaction().build(values), least=2)
    if not useful:
        return RootOnly(), "codes of one length, but no two begin alike"
    kept = tuple(useful[round(at)] for at in np.linspace(0, len(useful) - 1, min(len(useful), _MOST_LEVELS)))
    reason = f"codes of {len(values[0])} characters: masked from the right, as the first usually say most"
    return Redaction(characters=kept), reason


def _postal(values: Sequence[Any]) -> tuple[Builder, str] | None:
    """Choose prefixes of postal codes; None if most values are not postal codes."""
    texts = [text_of(value).strip() for value in values]
    digits = [digits_of for text in texts if (digits_of := postal_digits(text))]
    width = max(map(len, digits), default=0)
    if len(digits) >= _MOSTLY * len(texts) and not width >= _FEWEST_DIGITS:
        return None
    useful = _useful(PostalCodes().build(values), least=2)
    if not useful:
        return RootOnly(), "postal codes, but no two begin alike"
    if not digits:
        return PostalCodes(), "postal codes: by district and area"
    lost = sum(len(digits_of) < width for digits_of in digits)
    reason = "postal codes: by their first digits"
    if lost:
        reason += (
            f"; {_number_of(lost, 'value')} of fewer than {width} digits lost the zeros in front, which are put back "
            "(`text` reads the column so)"
        )
    return PostalCodes(tuple(useful), width), reason


def _intervals(numbers: Sequence[Decimal], counts: np.ndarray[Any, Any]) -> tuple[Builder, str]:
    """Choose a round width for about 16 intervals between the tails, doubled from level to level."""
    low, high = _core(numbers, counts)
    least = Decimal(2) if all(x == x.to_integral_value() for x in numbers) else None
    width = _round_width((high - low) / _FINEST, least)
    bottom, top = math.floor(low / width) * width, math.ceil(high / width) * width
    widths = tuple(map(_shown, islice(_round_steps(width), _MOST_LEVELS)))
    below, above = min(numbers) < bottom - width, max(numbers) >= top + width
    rule = Intervals(widths, bottom=_shown(bottom) if below else None, top=_shown(top) if above else None)
    useful = _useful(rule.build(numbers), least=max(_COARSEST, 2 + below + above))
    if not useful:
        return RootOnly(), f"{_number_of(len(numbers), 'number')}: too few for intervals"
    chosen = replace(rule, widths=tuple(widths[level - 1] for level in useful))
    reason = f"{_number_of(len(numbers), 'number')}: intervals of round widths"
    ends = " and the ".join(["bottom"] * below + ["top"] * above)
    opened = f"; open at the {ends}, where about {_TAIL:.0%} of the records lie far out" if ends else ""
    return chosen, reason + opened


def _core(numbers: Sequence[Decimal], counts: np.ndarray[Any, Any]) -> tuple[Decimal, Decimal]:
    """Return the numbers between which all values except the tails lie; the extremes if these are equal."""
    order = sorted(range(len(numbers)), key=lambda at: numbers[at])
    cumulated = np.cumsum(counts[order]) / counts.sum()
    low = numbers[order[int(np.searchsorted(cumulated, _TAIL))]]
    high = numbers[order[min(int(np.searchsorted(cumulated, 1 - _TAIL)), len(order) - 1)]]
    return (low, high) if low < high else (min(numbers), max(numbers))


def _round_width(width: Decimal, least: Decimal | None) -> Decimal:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is not below the width."""
    unit = Decimal(1).scaleb(width.adjusted())
    rounded = next(unit * digit for digit in (1, 2, 5, 10) if unit * digit >= width)
    return rounded if least is None else max(rounded, least)


def _round_steps(width: Decimal) -> Iterator[Decimal]:
    """Yield the width and ever larger round ones, each the next that is a multiple: 5, 10, 20, 40; 500, 1000, 2000, 10000."""
    while True:
        yield width
        unit = Decimal(1).scaleb(width.adjusted())
        digits = (1, 2, 4, 5, 10, 20, 50) if unit <= _SMALL_UNIT else (1, 2, 5, 10, 20, 50)
        width = next(wider for digit in digits if (wider := unit * digit) > width and wider % width == 0)


def _rare(values: Sequence[Any], counts: np.ndarray[Any, Any]) -> tuple[Builder, str]:
    other = _free(values, "other")
    records = int(counts.sum())
    thresholds = tuple(sorted({max(2, math.ceil(share * records)) for share in _RARE_SHARES}))
    useful = _useful(Rare(thresholds, other).build(values, counts.tolist()), least=_COARSEST)
    nominal = "values without an order or a common form: nothing says which belong together"
    if not useful:
        return RootOnly(), f"{_number_of(len(values), 'value')}: {nominal}, and merging rare ones leaves nothing useful"
    chosen = Rare(tuple(thresholds[level - 1] for level in useful), other)
    return (
        chosen,
        f"{_number_of(len(values), 'value')}: {nominal}, so rare ones are merged; a hierarchy by meaning would keep more",
    )


def _free(values: Sequence[Any], label: str) -> str:
    """Return the label, or a similar one that is not a value."""
    texts = {text_of(value).casefold() for value in values}
    labels = chain((label, f"({label})"), (f"({label} {number})" for number in count(2)))
    return next(free for free in labels if free not in texts)


def _useful(hierarchy: Hierarchy, *, least: int) -> list[int]:
    """Return the levels between values and root that merge more than the one before and leave at least `least` groups."""
    groups = [len(set(labels)) for labels in zip(*hierarchy.labels, strict=True)]
    return [level for level in range(1, len(groups)) if least <= groups[level] < groups[level - 1]]


def _shown(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _number_of(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
