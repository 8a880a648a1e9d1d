"""Does a value that somebody wrote fit what a function says it takes? Its annotations are held against the value.

Options of a mechanism come from a project file or a command line, where anything may stand. A number fits `float`, a list or an
array `Sequence`, a table or a dict `Mapping`; what an annotation names otherwise is left for the function to judge.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from datetime import date, time
from numbers import Integral, Real
from typing import Any

__all__ = ["fits", "kind_of", "said"]

_ALIASES = {
    "Names": "str | Sequence[str]",
    "CellNulls": "str",
    "Query": "Mapping[str, Any]",
    "Trees": "Mapping[str, Hierarchy | str]",
}
_WORDS = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"}
_OBJECTS = ("Callable", "Hierarchy", "PathLike")
"""What no file can hold: they fit where they are no plain values."""


def fits(value: Any, annotation: str) -> bool:
    """Whether a value is what an annotation says.

    Examples
    --------
    >>> fits(3, "float | None"), fits([1, "a"], "Sequence[float]"), fits(True, "int"), fits({"age": 2}, "Mapping[str, float]")
    (True, False, False, True)
    """
    return _fits(value, ast.parse(annotation, mode="eval").body)


def said(annotation: str) -> str:
    """Say in words what an annotation takes.

    Examples
    --------
    >>> said("float | Mapping[str, float] | None")
    'a number or a table'
    """
    return " or ".join(dict.fromkeys(_said(ast.parse(annotation, mode="eval").body)))


def kind_of(value: Any) -> str:
    """Say what a value is, without saying the value."""
    if isinstance(value, Mapping):
        return "such a table" if value else "an empty table"
    if _is_list(value):
        return "such a list" if len(value) else "an empty list"
    kinds = {bool: "bool", str: "str", Integral: "int", Real: "float"}
    return next((_WORDS[name] for kind, name in kinds.items() if isinstance(value, kind)), type(value).__name__)


def _fits(value: Any, node: ast.expr) -> bool:  # noqa: PLR0911 - a case a form
    match node:
        case ast.BinOp(left=left, right=right):
            return _fits(value, left) or _fits(value, right)
        case ast.Constant(value=None):
            return value is None
        case ast.Name(id=name) if name in _ALIASES:
            return fits(value, _ALIASES[name])
        case ast.Subscript(value=ast.Name(id="Mapping"), slice=ast.Tuple(elts=[_, inner])):
            return isinstance(value, Mapping) and all(isinstance(key, str) and _fits(one, inner) for key, one in value.items())
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=inner):
            return _is_list(value) and all(_fits(one, inner) for one in value)
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=inners)):
            return _is_list(value) and len(value) == len(inners) and all(map(_fits, value, inners))
    return _fits_name(value, _name(node))


def _fits_name(value: Any, name: str) -> bool:
    if name in _OBJECTS:
        return not isinstance(value, str | Real | list | Mapping | date | time)
    if isinstance(value, bool) or name == "bool":
        return name in {"bool", "Any"} and (name == "Any" or isinstance(value, bool))
    plain: dict[str, type] = {"int": Integral, "float": Real, "str": str}
    return isinstance(value, plain[name]) if name in plain else True


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)


def _name(node: ast.expr) -> str:
    """Return the last name of what is left: of `os.PathLike[str]` it is PathLike."""
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _said(node: ast.expr) -> list[str]:
    match node:
        case ast.BinOp(left=left, right=right):
            return [*_said(left), *_said(right)]
        case ast.Name(id=name) if name in _ALIASES:
            return _said(ast.parse(_ALIASES[name], mode="eval").body)
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=inners)):
            return [f"a list of {len(inners)}"]
        case ast.Subscript(value=ast.Name(id="Sequence"), slice=inner):
            several = {"a whole number": " of whole numbers", "a number": " of numbers", "a text": " of texts"}
            return [f"a list{several.get(one, '')}" for one in (_said(inner) or [""])]
    word = {**_WORDS, "Mapping": "a table"}.get(_name(node))
    return [word] if word else []
