"""Options in groups: a verb takes a few dataclasses of options instead of forty parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

__all__ = ["grouped"]


def grouped(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Spread each parameter of a verb that is a dataclass of options into these options, for the command line to read.

    Two groups must not have an option of one name.
    """
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, kind in get_type_hints(verb, include_extras=True).items():
        if name == "return":
            continue
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            parameters += [_option(one, get_type_hints(kind, include_extras=True)[one.name]) for one in fields(kind)]
        else:
            parameters.append(inspect.signature(verb).parameters[name].replace(annotation=kind, kind=_KEYWORD))

    def spread(**words: Any) -> Any:
        taken = {name: kind(**{one.name: words.pop(one.name) for one in fields(kind)}) for name, kind in groups.items()}
        return verb(**taken, **words)

    spread.__name__, spread.__doc__, spread.__module__ = verb.__name__, verb.__doc__, verb.__module__
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {one.name: one.annotation for one in parameters}
    return spread


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _option(one: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    return inspect.Parameter(one.name, _KEYWORD, default=default, annotation=annotation)
