"""Some thousand cases of the fuzzer on every run of the tests; `make fuzz` runs many more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzz.calls import CALLS, RIGHT, parameters_of
from fuzz.commands import VALUES, VERBS
from fuzz.runner import run_any

_CASES = 2000
_PARTS = 8


@pytest.mark.parametrize("part", range(_PARTS))
def test_nothing_but_our_own_errors_comes_of_any_call(part: int, tmp_path: Path) -> None:
    here = Path.cwd()
    try:
        outcomes = [run_any(number, tmp_path) for number in range(part, _CASES, _PARTS)]
    finally:
        os.chdir(here)
    failed = [
        f"python -m fuzz --case {outcome.case}: {outcome.problem} at {outcome.place}"
        for outcome in outcomes
        if outcome.result == "failed"
    ]
    assert not failed, "\n".join(failed)


def test_every_parameter_of_every_public_call_can_be_drawn() -> None:
    unknown = {(label, name) for label in CALLS for name in parameters_of(label) if name not in RIGHT}
    assert not unknown


def test_every_option_of_every_verb_can_be_drawn() -> None:
    valued = {
        (verb, one.opts[0]) for verb, command in VERBS.items() for one in command.params if not getattr(one, "is_flag", False)
    }
    assert not {(verb, name) for verb, name in valued if name not in VALUES}
