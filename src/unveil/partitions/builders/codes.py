"""Codes with equal beginnings, or ends: characters are masked from one end, postal codes by their digits or parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, HierarchyError, shown
from unveil.partitions.builders.base import Builder, growing, read_all
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import text_of
from unveil.partitions.rules import column_said

__all__ = ["PostalCodes", "Redaction", "Side", "postal_digits"]

Side = Literal["left", "right"]
_SIDES = ("left", "right")


@checked_arguments
@dataclass(frozen=True)
class Redaction(Builder):
    """Codes with characters masked from one end: ``75011``, ``7501*``, ``750**`` and so on.

    Parameters
    ----------
    side
        The end at which masking begins.
    characters
        The number of characters masked at each level, increasing; none: one more at each level, up to all but one.
    mask
        The character that replaces those that are masked.
    pad
        A character that pads shorter codes to the length of the longest; none: the mask.
    pad_side
        The end at which codes are padded; none: the end that is masked.

    Examples
    --------
    >>> Redaction(characters=(1, 3)).build(["75011", "75012", "69003"], column="zip").labels[0]
    ('75011', '7501*', '75***', '*')
    >>> Redaction(pad="0", pad_side="left").build([1225, 75011], column="zip").labels[0]
    ('1225', '0122*', '012**', '01***', '0****', '*')
    """

    name: ClassVar[str] = "redaction"
    side: Side = "right"
    characters: tuple[int, ...] | None = None
    mask: str = "*"
    pad: str | None = None
    pad_side: Side | None = None

    def __post_init__(self) -> None:
        """Refuse settings that do not make each level coarser than the one below."""
        for name in ("side", "pad_side"):
            if getattr(self, name) not in (*_SIDES, None):
                raise ArgumentError.not_one_of(f"the {name} of a redaction", getattr(self, name), _SIDES)
        for name in ("mask", "pad"):
            if (sign := getattr(self, name)) is not None and len(sign) != 1:
                raise ArgumentError(f"the {name} of a redaction is one character, not {shown(sign)}.")
        if self.characters is not None:
            if any(not isinstance(number, int) for number in self.characters):
                raise ArgumentError("the characters of a redaction are whole numbers.")
            growing("the characters of a redaction", self.characters)

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the codes, in the order given, with more masked at each level."""
        codes = read_all(values, text_of, "code", column)
        length = max(map(len, codes.values()))
        if masking := sum(self.mask in code for code in codes.values()):
            raise HierarchyError(
                f"{column_said(column)}{masking:,} of {len(codes):,} values present hold the mask {shown(self.mask)}; "
                "choose another."
            )
        steps = range(1, length) if self.characters is None else self.characters
        filled = [self._filled(code, length) for code in codes.values()]
        levels = [[self._masked(code, min(step, length)) for code in filled] for step in steps]
        return Hierarchy.from_levels([*codes], *levels, column=column).with_root()

    def _filled(self, code: str, length: int) -> str:
        sign = self.pad or self.mask
        return code.rjust(length, sign) if (self.pad_side or self.side) == "left" else code.ljust(length, sign)

    def _masked(self, code: str, step: int) -> str:
        kept = code[step:] if self.side == "left" else code[: len(code) - step]
        return self.mask * step + kept if self.side == "left" else kept + self.mask * step


_EXTENDED = re.compile(r"(\d+)[ -]\d{3,4}")
"""A code of digits with a suffix, such as ZIP+4."""
_LETTERED = re.compile(r"([A-Z]{1,2}\d[A-Z\d]?) ?(?:\d[A-Z]{2})|([A-Z]\d[A-Z]) ?(?:\d[A-Z]\d)|(\d{4}) ?(?:[A-Z]{2})")
"""British, Canadian and Dutch codes; the first part, which names the district, is kept."""
_AREA = re.compile(r"[A-Z]+|\d{2}")
_LONGEST = 10


@checked_arguments
@dataclass(frozen=True)
class PostalCodes(Builder):
    """Postal codes by their prefixes: ``02139``, ``0213*``, ``021**``; ``SW1A 1AA``, ``SW1A *``, ``SW*``.

    Leading zeros that a spreadsheet lost are restored, so 2139 and 02139 are the same place. A suffix, as in ``02139-4307``, is
    left out from the first level on.

    Parameters
    ----------
    hidden
        The number of digits left out at each level, increasing; none: one more at each level. Codes with letters have two
        levels: the district, and the area.
    digits
        The number of digits of a code; none: that of the longest.

    Examples
    --------
    >>> PostalCodes((2, 3)).build([2139, 75011], column="zip").labels
    (('2139', '021**', '02***', '*'), ('75011', '750**', '75***', '*'))
    >>> PostalCodes().build(["SW1A 1AA", "K1A 0B1"], column="postcode").labels
    (('SW1A 1AA', 'SW1A *', 'SW*', '*'), ('K1A 0B1', 'K1A *', 'K*', '*'))
    """

    name: ClassVar[str] = "postal codes"
    hidden: tuple[int, ...] | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        """Refuse settings that do not make each level coarser than the one below."""
        if self.hidden is not None:
            growing("the hidden digits of postal codes", self.hidden)
        if self.digits is not None and not 1 < self.digits <= _LONGEST:
            raise ArgumentError(f"postal codes have 2 to {_LONGEST} digits.")

    def build(self, values: Sequence[Any], counts: Sequence[int] | None = None, *, column: str | None = None) -> Hierarchy:  # noqa: ARG002
        """Return the codes, in the order given, with less of them at each level."""
        texts = read_all(values, lambda value: text_of(value).strip().upper(), "postal code", column)
        width = self.digits or max((len(digits) for text in texts.values() if (digits := postal_digits(text))), default=2)
        hidden = self.hidden or (1, 2) if not any(map(postal_digits, texts.values())) else self.hidden or tuple(range(1, width))
        rows = [[_shortened(text, width, step, place) for place, step in enumerate(hidden)] for text in texts.values()]
        return Hierarchy.from_levels([*texts], *zip(*rows, strict=True), column=column).with_root()


def postal_digits(text: str) -> str:
    """Return the digits of a code that has no letters, without a suffix; an empty text for any other.

    Examples
    --------
    >>> postal_digits("02139-4307"), postal_digits("75011"), postal_digits("SW1A 1AA")
    ('02139', '75011', '')
    """
    if match := _EXTENDED.fullmatch(text):
        return match[1]
    return text if text.isdecimal() and len(text) <= _LONGEST else ""


def _shortened(text: str, width: int, hidden: int, place: int) -> str:
    """Return the visible part of a code with this many digits hidden, or, with letters, at the position of the level."""
    if digits := postal_digits(text):
        kept = digits.zfill(width)[: max(width - hidden, 0)]
        return kept + "*" * (width - len(kept))
    match = _LETTERED.fullmatch(text)
    if match is None:
        return text[: max(len(text) - hidden, 0)] + "*" * min(hidden, len(text))
    district = match[1] or match[2] or match[3]
    area = _AREA.match(district)
    return f"{district} *" if place == 0 or area is None else f"{area[0]}*"
