"""The mechanisms that protect a table: each takes a frame, named attributes and a seed, and returns a protected frame."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.arguments import checked_arguments
from unveil.doors import lazily
from unveil.mechanisms.facts import FACTS

if TYPE_CHECKING:
    from unveil.mechanisms.anatomy import Anatomy
    from unveil.mechanisms.differential_privacy.accounting import PrivacyLoss
    from unveil.mechanisms.differential_privacy.budget import Budget, concentrated, load_opendp, noisy
    from unveil.mechanisms.differential_privacy.ledger import Account, BudgetSpentError, PrivacyLedger
    from unveil.mechanisms.facts import RECODINGS, MechanismFacts
    from unveil.mechanisms.pseudonyms import pseudonymize

_HOMES: dict[str, str] = {
    **{name: facts.home for name, facts in FACTS.items()},
    "Anatomy": "anatomy",
    "Private": "differential_privacy.answers",
    "BudgetSpentError": "differential_privacy.ledger",
    "PrivacyLedger": "differential_privacy.ledger",
    "PrivacyLoss": "differential_privacy.accounting",
    "safepub_delta": "differential_privacy.safety",
}
"""Each public name and the module that holds it; mechanisms are registered in `facts`."""

__all__ = [*_HOMES]  # noqa: PLE0604 - the keys are names


_for_rooms = lazily(
    __name__,
    {
        "differential_privacy.budget": ("Budget", "concentrated", "load_opendp", "noisy"),
        "differential_privacy.ledger": ("Account",),
        "facts": ("MechanismFacts", "RECODINGS"),
    },
)
"""What other rooms take besides."""

_OWN: dict[str, Callable[..., Any]] = {}
_Mechanism = TypeVar("_Mechanism", bound=Callable[..., Any])


@checked_arguments
def register(mechanism: _Mechanism) -> _Mechanism:
    """Add a mechanism of your own, as a decorator of its function; steps of a protection may then name it.

    If a call omits a parameter `nulls`, `orders`, `kinds`, `hierarchy`, `weights` or `household`, a study given as data
    supplies it.
    """
    from unveil.mechanisms.door import heeds_study

    own = heeds_study(mechanism)
    _OWN[mechanism.__name__] = own
    return own


def names() -> tuple[str, ...]:
    """Return the functions that protect records, those registered last."""
    return (*(name for name in _HOMES if not name[0].isupper() and name != "safepub_delta"), *_OWN)


def __getattr__(name: str) -> Any:
    if name in _OWN:
        return _OWN[name]
    if name not in _HOMES:
        return _for_rooms(name)
    return getattr(import_module(f"unveil.mechanisms.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
