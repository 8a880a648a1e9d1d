"""The arguments of a mechanism that come from a study or project given as data.

Arguments in the call itself take precedence. A study that treats a null as a value has no effect on `nulls`: the mechanism's
own default then applies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from unveil.attributes import names_of
from unveil.fitting import fits, hints_of
from unveil.run import active_run
from unveil.study import require_no_nulls, study_of

if TYPE_CHECKING:
    from unveil.study import Study

__all__ = ["heeds_study"]

_Door = TypeVar("_Door", bound=Callable[..., Any])
_BY_COLUMN = ("orders", "kinds")
_RANKED_TOO = "given"
"""The argument that names further columns that may have an order."""


def heeds_study(mechanism: _Door) -> _Door:
    """Complete the arguments of a mechanism from the study given as data: the reading of nulls and values, and the roles.

    The active run is checked before the call and, unless a ledger was charged for the answer, after it.
    """
    signature = inspect.signature(mechanism)

    @wraps(mechanism)
    def door(*values: Any, **named: Any) -> Any:
        active_run().check()
        try:
            call = signature.bind_partial(*values, **named)
        except TypeError:
            return mechanism(*values, **named)  # which reports what is wrong with the call
        if (study := study_of(call.arguments.get("data"))) is not None:
            if "nulls" not in signature.parameters:
                require_no_nulls(study, [name for value in call.arguments.values() for name in _columns(value)])
            call.arguments.update(_completed(study, mechanism, call.arguments))
        answer = mechanism(*call.args, **call.kwargs)
        if call.arguments.get("ledger") is None:
            active_run().check()
        return answer

    return door  # type: ignore[return-value]


def _completed(study: Study, mechanism: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a study completes: those that the call does not name, orders and kinds column by column."""
    hints, own = hints_of(mechanism), {name: given.get(name) or {} for name in _BY_COLUMN}
    second = next((name for name in inspect.signature(mechanism).parameters if name != "data"), "")
    columns = [*_columns(given.get(second)), *_columns(given.get(_RANKED_TOO))]
    known: dict[str, Any] = {
        "nulls": None if study.policy == "category" else study.policy,
        "weights": study.weights,
        "household": study.household,
        "key": study.key,
        "sensitive": study.sensitive[0] if len(study.sensitive) == 1 else None,
        "hierarchy": study.hierarchy(columns[0]) if columns and "hierarchy" in hints else None,
        "orders": {name: list(study.orders[name]) for name in columns if name in study.orders},
        "kinds": {name: study.kinds[name] for name in columns if name in study.kinds and name not in own["orders"]},
    }
    fitting = {name: one for name, one in known.items() if one and name in hints and fits(one, hints[name])}
    for name in _BY_COLUMN:
        if name in fitting and isinstance(own[name], Mapping):
            fitting[name] = {**fitting[name], **own[name]}
    return {name: one for name, one in fitting.items() if given.get(name) is None or isinstance(own.get(name), Mapping)}


def _columns(named: Any) -> tuple[str, ...]:
    """Return the columns that an argument names; the mechanism refuses anything else itself."""
    return tuple(names_of(named)) if fits(named, str) or fits(named, list[str]) else ()
