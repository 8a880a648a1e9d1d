"""What the public doors refuse, and how they say it."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import unveil
from fuzz.calls import CALLS
from unveil.arguments import checked_arguments, checked_count, checked_number, checked_seed, checked_share
from unveil.errors import ArgumentError
from unveil.fitting import fits, hints_of


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (np.int64(3), int, True),
        (True, int, False),
        (True, float, False),
        (np.bool_(True), bool, True),
        (np.float32(0.5), float | None, True),
        (np.eye(2), Sequence[Sequence[float]] | None, True),
        (np.array(3), Sequence[Any], False),
        (("a", "b"), str | Sequence[str], True),
        (pl.Series(["a"]), Sequence[str], True),
        (pl.DataFrame({"a": [1]}), Sequence[Any], False),
        ("ab", Sequence[str], False),
        ("ab", Iterable[str], False),
        (b"ab", str, False),
        (["a", 1], Sequence[str], False),
        ({"a": 1}, Mapping[str, float], True),
        ({1: 1}, Mapping[str, float], False),
        ((1, 2), tuple[float, float], True),
        ((1, 2, 3), tuple[float, float], False),
        ((1, 2, 3), tuple[int, ...], True),
        ("drop", Literal["drop", "error"], True),
        ("keep", Literal["drop", "error"], False),
        (len, Callable[[Any], int] | None, True),
        (Path("x"), str | Path, True),
    ],
)
def test_a_value_fits_what_an_annotation_says(value: Any, hint: Any, expected: bool) -> None:
    assert fits(value, hint) is expected


@checked_arguments
def _asked(
    key: str | Sequence[str], how: Literal["fast", "exact"] = "fast", *, weights: Mapping[str, float] | None = None
) -> Any:
    return key, how, weights


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"key": 3}, "key must be a text or a list of texts, not a whole number."),
        ({"key": None}, "key must be a text or a list of texts, not nothing."),
        ({"key": ["a", 1]}, "key: entry 2 must be a text, not a whole number."),
        ({"key": "a", "how": "exakt"}, "how 'exakt' is unknown; it is one of: fast, exact. Hint: did you mean 'exact'?"),
        ({"key": "a", "how": 1}, "how must be 'fast' or 'exact', not a whole number."),
        ({"key": "a", "weights": {"b": "much"}}, "weights: what is under 'b' must be a number, not a text."),
        ({"key": "a", "weights": [1]}, "weights must be a table, not a list of 1."),
    ],
)
def test_a_door_says_what_it_takes_and_what_it_was_given(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        _asked(**arguments)
    assert str(refused.value) == words


def test_arrays_and_columns_reach_a_door_as_lists() -> None:
    assert _asked(np.array(["a", "b"]))[0] == ["a", "b"]  # type: ignore[arg-type]
    assert _asked(pd.Series(["a"]), "exact", weights={"a": 1}) == (["a"], "exact", {"a": 1})


def test_numbers_of_other_libraries_reach_a_door_as_pythons_own() -> None:
    @checked_arguments
    def told(share: float, *, ordered: bool | Sequence[str] = False, anything: Any = None) -> list[type]:
        return [type(share), type(ordered), type(anything)]

    assert told(Fraction(1, 3), ordered=np.True_, anything=np.True_) == [float, bool, np.bool_]  # type: ignore[arg-type]
    assert told(np.float32(0.5)) == [float, bool, type(None)]  # type: ignore[arg-type]


def test_every_public_function_is_a_door_that_knows_its_annotations() -> None:
    functions = {
        label: call for label, call in CALLS.items() if inspect.isfunction(call) and call.__module__.startswith("unveil")
    }
    assert len(functions) > 50
    for label, call in functions.items():
        assert hasattr(call, "__wrapped__"), f"{label} checks no arguments"
        for name, parameter in inspect.signature(call).parameters.items():
            if parameter.default is not parameter.empty:
                assert fits(parameter.default, hints_of(call)[name]), (label, name)


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_of_any_length_are_refused_in_a_line(sign: int) -> None:
    huge = sign * 10**5000
    checks: list[Callable[[], Any]] = [
        lambda: checked_count("k", huge, least=1, most=9, of="records"),
        lambda: checked_number("x", huge),
        lambda: checked_share("x", huge),
        lambda: checked_seed(huge),
    ]
    for check in checks:
        with pytest.raises(ArgumentError, match="more than 30 digits"):
            check()


@pytest.mark.parametrize("share", [math.nan, math.inf, -0.1, 1.5, "0.5", None, True])
def test_what_is_no_share_is_refused(share: Any) -> None:
    with pytest.raises(ArgumentError, match="from 0 to 1"):
        checked_share("share", share)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: checked_number("x", 2.0, above=0, below=1), "x is 2.0; it must be above 0 and below 1."),
        (lambda: checked_number("x", -1, least=0, most=100), "x is -1; it must be from 0 to 100."),
        (lambda: checked_number("x", math.nan, least=0), "x is nan; it must be a number of at least 0."),
        (lambda: checked_number("x", 1e30, above=0, most=1e20), "x is a number of more than 30 digits; it must be above 0 and at most 1e+20."),
        (lambda: checked_number("x", None), "x is nothing; it must be a number."),
        (lambda: checked_share("x", 2), "x is 2; it must be from 0 to 1."),
        (lambda: checked_count("x", 0, least=1), "x is 0; it must be at least 1."),
        (lambda: checked_count("x", 2.5, least=1), "x is 2.5; it must be a whole number of at least 1."),
        (lambda: checked_count("x", 7, least=1, most=5), "x is 7; it must be from 1 to 5."),
        (lambda: checked_count("x", 7, least=1, most=5, of="records"), "x is 7, and there are only 5 records."),
        (lambda: checked_count("x", True, least=1, most=5), "x is true or false; it must be a whole number from 1 to 5."),
    ],
)  # fmt: skip
def test_a_number_out_of_bounds_is_refused_in_one_shape(check: Callable[[], Any], words: str) -> None:
    with pytest.raises(ArgumentError) as refused:
        check()
    assert str(refused.value) == words


def test_a_call_without_its_arguments_is_still_the_mistake_that_python_names() -> None:
    with pytest.raises(TypeError, match="columns"):
        unveil.count("paper-2")  # type: ignore[call-arg]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_door_refuses_integers_beyond_floating_point(sign: int) -> None:
    table = pl.DataFrame({"a": [0, 1, 2]})
    for huge in (sign * 10**400, sign * 10**5000):
        with pytest.raises(ArgumentError, match="confidence is a number of more than 30 digits"):
            unveil.attacks.distance_linkage(table, table, [0, 1, 2], confidence=huge)


@pytest.mark.parametrize("p", [np.array([1, 2]), [np.int64(1), np.int64(2)], pd.Series([1, 2]), (np.int8(1), 2)])
def test_numbers_of_numpy_in_a_list_become_pythons_own(p: Any) -> None:
    table = pl.DataFrame({"person": [0, 0, 1, 1], "place": ["a", "b", "a", "c"]})
    answer = unveil.stream.unicity(table, "person", "place", p=p)
    assert [one["p"] for one in json.loads(json.dumps(answer.to_dict()))["unicity"]] == [1, 2]
