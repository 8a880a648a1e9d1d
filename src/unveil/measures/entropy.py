"""How uncertain is an attribute, before and after another is known? Plug-in entropies, in bits, over non-empty cells.

Every term is at least zero, so nothing is clipped. More entropy is more uncertainty, so less disclosure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["entropy_bits", "entropy_by_class"]


def entropy_bits(mass: NDArray[Any]) -> float:
    r"""Return :math:`H = \sum_x p(x) \log_2 (1 / p(x))` of a distribution given by its masses, all above zero.

    Examples
    --------
    >>> import numpy as np
    >>> entropy_bits(np.array([1, 1, 2]))
    1.5
    """
    total = mass.sum()
    return float((mass * np.log2(total / mass)).sum() / total)


def entropy_by_class(mass: NDArray[Any], of_cell: NDArray[np.int64], class_mass: NDArray[Any]) -> NDArray[np.float64]:
    r"""Return :math:`H(X \mid Y = y)` of each class, from the cells :math:`(x, y)`.

    Parameters
    ----------
    mass
        The mass of each cell, one cell per pair of a class and a value of X.
    of_cell
        The class of each cell.
    class_mass
        The mass of each class.
    """
    terms = mass * np.log2(class_mass[of_cell] / mass)
    return np.asarray(np.bincount(of_cell, weights=terms, minlength=len(class_mass)) / class_mass)
