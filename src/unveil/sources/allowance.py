"""How much memory what is kept may take."""

from __future__ import annotations

__all__ = ["Allowance"]


class Allowance:
    """So many bytes, handed out until none are left.

    Examples
    --------
    >>> allowance = Allowance(10)
    >>> allowance.grants(8), allowance.grants(3), allowance.grants(2)
    (True, False, True)
    """

    __slots__ = ("_left",)

    def __init__(self, size: int) -> None:
        self._left = size

    def grants(self, size: int) -> bool:
        """Reserve so many bytes, if they are left; return whether they were."""
        if size > self._left:
            return False
        self._left -= size
        return True
