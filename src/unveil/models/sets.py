"""Does anybody stand out by a few of the items they bought, places they visited or illnesses they have? k^m-anonymity of sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from unveil.arguments import checked_arguments, checked_count
from unveil.errors import ArgumentError, listed, shown
from unveil.measures import MOST_KNOWN, Equivalence, checked_separator, items_of, least_supports
from unveil.models.base import Model, Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KmAnonymity"]


@checked_arguments
@dataclass(frozen=True)
class KmAnonymity(Model):
    """Anyone who knows any m items of somebody's set, or fewer, finds at least k records that hold them (Terrovitis 2008).

    The attribute is part of the key: a text of items with separators between them. The figure of a class is the smallest number
    of records that hold some m of its items together.

    Examples
    --------
    >>> import polars as pl, unveil
    >>> carts = pl.DataFrame({"cart": ["beer;milk", "beer;milk", "beer;tea", "beer"]})
    >>> model = unveil.models.KmAnonymity("cart", k=2, m=1)
    >>> measured = unveil.measure(carts, "cart", models=[model])["km_anonymity", "cart"]
    >>> measured.value, measured.met, measured.worst_class["key"]
    (1, False, {'cart': 'beer;tea'})
    """

    attribute: str
    k: int | None = None
    m: int = 2
    separator: str = ";"
    name: ClassVar[str] = "km_anonymity"
    label: ClassVar[str] = "k^m-anonymity"
    whole: ClassVar[bool] = True
    safe_is_high: ClassVar[bool] = True
    on_request: ClassVar[bool] = True  # only the user knows which columns hold sets

    def __post_init__(self) -> None:
        """Refuse an invalid threshold, m or separator."""
        Model.__post_init__(self)
        checked_count("the m of km_anonymity", self.m, least=1, most=MOST_KNOWN)
        checked_separator(self.separator)

    @property
    def place(self) -> Place:
        """Its name and its attribute."""
        return self.name, self.attribute

    def by_class(self, classes: Equivalence) -> NDArray[np.float64]:
        """Return the smallest number of records that hold some m items of each class's set together."""
        names = [column.name for column in classes.classes.columns]
        if self.attribute not in names:
            raise ArgumentError(
                f"{self.name} asks for {shown(self.attribute)}, which is not among the key attributes: {listed(names)}."
            )
        at = names.index(self.attribute)
        values, of_class = classes.classes.columns[at].values, classes.classes.codes[at]
        records = np.bincount(of_class, weights=classes.own, minlength=len(values)).astype(np.int64)
        sets = [items_of(value, self.separator) for value in values]
        return least_supports(sets, records.tolist(), self.m)[of_class].astype(np.float64)

    @property
    def threshold(self) -> float | None:
        """The required k."""
        return self.k

    @property
    def requirement(self) -> str | None:
        """The threshold in words, with m."""
        return None if self.k is None else f"{self.name} >= {self.k} (m = {self.m})"
