"""The fit of a value to the annotations of the function that receives it.

An integer fits `int`, and any real number fits `float` (true and false fit neither); a list, an array or a column fits
`Sequence`; a table or a dict fits `Mapping`. Any value fits an annotation whose name only type checkers know: the function
itself judges the value.
"""

from __future__ import annotations

import builtins
import collections.abc
import contextlib
import inspect
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral, Rational, Real
from types import NoneType, UnionType
from typing import Any, ForwardRef, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from unveil.errors import shown

__all__ = ["fits", "hints_of", "kind_of", "listed_array", "misfit", "plain", "said", "words_of"]

_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_SEVERAL = {"a whole number": "whole numbers", "a number": "numbers", "a text": "texts"}
_KINDS: dict[type, tuple[type, ...]] = {int: (Integral,), float: (Real,), str: (str,), bool: (bool, np.bool_)}
_ANYTHING = (Any, object)


class _AnyAttribute(type):
    """A metaclass by which an unknown name has any attribute that an annotation uses."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _Unknown(metaclass=_AnyAttribute):
    """A placeholder for a name in an annotation that only type checkers know."""

    def __class_getitem__(cls, _: Any) -> Any:
        return cls


class _Names(dict[str, Any]):
    """The names that an annotation may use."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, getattr(collections.abc, name, _Unknown))


@cache
def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters, by name; those without an annotation are left out."""
    plain = inspect.unwrap(function)
    names = _Names(getattr(plain, "__globals__", {}))
    parameters = inspect.signature(plain).parameters.values()
    return {one.name: _read(one.annotation, names) for one in parameters if one.annotation is not one.empty}


def fits(value: Any, hint: Any) -> bool:  # noqa: PLR0911 - one case per form of a hint
    """Whether a value fits a hint.

    Examples
    --------
    >>> fits(3, float | None), fits([1, "a"], Sequence[float]), fits(True, int), fits({"age": 2}, Mapping[str, float])
    (True, False, False, True)
    """
    form, inner = get_origin(hint), get_args(hint)
    if _takes_anything(hint):
        return True
    if form in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if form is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if form is tuple:
        return _fits_tuple(value, inner)
    if hint is None or hint is NoneType:
        return value is None
    kind = form or hint
    if _names(kind, Mapping):
        return isinstance(value, Mapping) and _all_fit(value, inner[:1]) and _all_fit(value.values(), inner[1:])
    if _names(kind, Sequence):
        return _is_list(value) and _all_fit(value, inner)
    if kind is Iterable:
        unfit = isinstance(value, str | bytes | Mapping | np.ndarray) or hasattr(value, "columns")
        other = isinstance(value, Iterable) and not unfit
        return _all_fit(value, inner) if _is_list(value) else other
    return _fits_type(value, kind)


def said(hint: Any) -> str:
    """Return the values that a hint accepts, in words.

    Examples
    --------
    >>> said(float | Mapping[str, float] | None)
    'a number or a table'
    """
    return " or ".join(dict.fromkeys(_said(hint)))


def listed_array(value: Any, hint: Any) -> Any:
    """Return an array or a column as a list if the hint accepts a list; return any other value unchanged."""
    if _takes_anything(hint) or not hasattr(value, "__array__") or not _is_list(value):
        return value
    takes = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    wants_list = any(_names(get_origin(one) or one, Sequence) for one in takes) and not any(map(_takes_anything, takes))
    return list(value) if wants_list else value


def plain(value: Any, hint: Any) -> Any:
    """Return numbers and booleans of other libraries as Python's own, unless the hint allows any value; the rest unchanged.

    Examples
    --------
    >>> from fractions import Fraction
    >>> plain(Fraction(1, 4), float), plain(np.True_, bool | None), plain([np.int64(2)], list[int])
    (0.25, True, [2])
    """
    if _takes_anything(hint) or isinstance(value, bool | int | float | str):
        return value
    if type(value) in (list, tuple):
        return type(value)(map(_own, value)) if any(isinstance(one, np.generic) for one in value) else value
    if isinstance(value, np.generic):
        return _own(value)
    if isinstance(value, Rational):
        with contextlib.suppress(OverflowError):
            return float(value)
    return value


def _own(value: Any) -> Any:
    """Return a number or boolean of numpy as Python's own."""
    return value.item() if isinstance(value, np.bool_ | np.integer | np.floating) else value


def words_of(hint: Any) -> tuple[str, ...]:
    """Return the words that a hint allows; none if it also allows other texts, or no text at all."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(word for one in get_args(hint) for word in words_of(one))
    return tuple(word for word in get_args(hint) if isinstance(word, str)) if get_origin(hint) is Literal else ()


def kind_of(value: Any) -> str:
    """Return the kind of a value in words, without the value; a number that is not a whole one by its type.

    Examples
    --------
    >>> kind_of(3), kind_of(0.5), kind_of([0.5])
    ('a whole number', 'a float', 'a list of 1')
    """
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a table" if value else "an empty table"
    if isinstance(value, list | tuple | set | frozenset):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, type):
        return "a class"
    known = next((kind for kind in (bool, str, int) if isinstance(value, _KINDS[kind])), None)
    return _WORDS[known] if known else f"a {type(value).__name__}"


def misfit(value: Any, hint: Any) -> tuple[str, Any, Any]:
    """Return the place in a value of a part that does not fit, that part, and the hint that it should fit.

    Examples
    --------
    >>> misfit({"age": "many"}, Mapping[str, float] | None)
    ("what is under 'age'", 'many', <class 'float'>)
    """
    for one in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        kind, inner = get_origin(one) or one, get_args(one)
        if _names(kind, Mapping) and isinstance(value, Mapping):
            for name, entry in value.items():
                if not fits(name, inner[0]):
                    return "a name in it", name, inner[0]
                if not fits(entry, inner[1]):
                    return _deeper(f"what is under {shown(name)}", entry, inner[1])
        elif (kind is Iterable or _names(kind, Sequence)) and _is_list(value):
            several = inner if kind is tuple and inner[1:] != (...,) else itertools.repeat(inner[0])
            for at, (entry, wanted) in enumerate(zip(value, several, strict=False), 1):
                if not fits(entry, wanted):
                    return _deeper(f"entry {at}", entry, wanted)
    return "", value, hint


def _deeper(part: str, value: Any, hint: Any) -> tuple[str, Any, Any]:
    """Return the misfit in a part: something inside it, or the part as a whole."""
    within, kind, wanted = misfit(value, hint)
    return (f"{part}, {within}", kind, wanted) if within else (part, value, hint)


def _read(annotation: Any, names: _Names) -> Any:
    return eval(annotation, {}, names) if isinstance(annotation, str) else annotation  # noqa: S307 - our own annotations


def _takes_anything(hint: Any) -> bool:
    return hint in _ANYTHING or hint is _Unknown or isinstance(hint, TypeVar | ForwardRef | str)


def _fits_tuple(value: Any, inner: tuple[Any, ...]) -> bool:
    if inner[1:] == (...,):
        return _is_list(value) and _all_fit(value, inner[:1])
    return _is_list(value) and len(value) == len(inner) and all(map(fits, value, inner))


def _fits_type(value: Any, kind: Any) -> bool:
    if kind is Callable:
        return callable(value)
    if not isinstance(kind, type):
        return True
    if isinstance(value, bool) and kind is not bool:
        return False
    return isinstance(value, _KINDS.get(kind, (kind,)))


def _all_fit(values: Iterable[Any], inner: tuple[Any, ...]) -> bool:
    """Whether every entry fits; if the hint allows any value, no entry is examined."""
    return not inner or _takes_anything(inner[0]) or all(fits(one, inner[0]) for one in values)


def _is_list(value: Any) -> bool:
    """Whether a value is a countable sequence of entries: a list, an array of at least one dimension, or a column."""
    if isinstance(value, str | bytes | Mapping | np.generic) or not isinstance(value, Iterable):
        return False
    return bool(np.ndim(value)) if isinstance(value, np.ndarray) else hasattr(value, "__len__") and not hasattr(value, "columns")


def _names(kind: Any, family: type) -> bool:
    """Whether an annotation names a type of the given family of containers; a text is not one."""
    return isinstance(kind, type) and issubclass(kind, family) and kind not in (str, bytes)


def _said(hint: Any) -> list[str]:
    form, inner = get_origin(hint), get_args(hint)
    if form in (Union, UnionType):
        return [word for one in inner for word in _said(one)]
    if form is Literal:
        return [" or ".join(repr(one) for one in inner)]
    if form is tuple and inner[1:] != (...,):
        return [f"a list of {len(inner)}"]
    if form is Iterable or _names(form or hint, Sequence):
        entries = (_said(inner[0]) if inner else []) or [""]
        return [f"a list of {_SEVERAL[entry]}" if entry in _SEVERAL else "a list" for entry in entries]
    return [] if _takes_anything(hint) or hint in (None, NoneType) else [_word(form or hint)]


def _word(kind: Any) -> str:
    if kind is Callable:
        return "a function"
    if _names(kind, Mapping):
        return "a table"
    return "a path" if kind is os.PathLike else _WORDS.get(kind, f"a {kind.__name__}")
