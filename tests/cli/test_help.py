"""Help as a person reads it: every option whole, in the width of the terminal, with an example at the end that can be copied."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from unveil.cli import run
from unveil.cli.application import WIDEST
from unveil.cli.verbs import VERBS, with_verb


def commands(program: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Yield every verb with its name, those of groups too."""
    for name, one in getattr(program, "commands", {}).items():
        yield from commands(one, *names, name)
    if not hasattr(program, "commands"):
        yield " ".join(names), program


COMMANDS = dict(commands(typer.main.get_command(with_verb())))


def helped(words: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the help of a command in a terminal of some width."""
    monkeypatch.setenv("COLUMNS", str(width))
    assert run([*words.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("verb", COMMANDS)
def test_help_fits_and_shows_every_option_whole(
    verb: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, _, example = helped(verb, width, monkeypatch, capsys).partition("\nExample:\n")
    options = [option for one in COMMANDS[verb].params for option in (*one.opts, *one.secondary_opts) if option.startswith("--")]
    assert max(map(len, text.splitlines())) <= min(width, WIDEST)
    assert [option for option in options if option not in text.split()] == []
    assert "…" not in text
    assert not [word for word in ("<bool>", "<str>", "<int>", "<float>") if word in text]
    assert example.startswith("  unveil ")
    assert all(shlex.split(line)[0] == "unveil" for line in example.splitlines())


def test_the_list_of_verbs_says_all_that_each_does(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(helped("", 80, monkeypatch, capsys).split())
    assert "..." not in text.replace("[ARGS]...", "")
    assert all(f" {verb} " in text for verb in VERBS)
    assert "Exit codes: 0 done;" in text


def test_usage_names_what_is_needed_and_brackets_what_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usages = [helped(verb, 80, monkeypatch, capsys).splitlines()[0] for verb in ("attack", "dr", "compare")]
    assert usages == [
        "Usage: unveil attack [OPTIONS] ORIGINAL RELEASE",
        "Usage: unveil dr [OPTIONS] [DATA]",
        "Usage: unveil compare [OPTIONS] ORIGINAL NAME=RELEASE...",
    ]
