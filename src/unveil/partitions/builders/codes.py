"""Codes with equal beginnings, or ends: characters are masked from one end, more at each level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, HierarchyError, shown
from unveil.partitions.builders.base import Builder, growing, read_all
from unveil.partitions.hierarchy import Hierarchy
from unveil.partitions.matching import text_of
from unveil.partitions.rules import at

__all__ = ["Redaction", "Side"]

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
                f"{at(column)}{masking:,} of {len(codes):,} values present hold the mask {shown(self.mask)}; choose another."
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
