"""The library speaks of arguments; only the command line speaks of options."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import typer

import unveil
from unveil.cli import run
from unveil.cli.application import said_in_options
from unveil.cli.verbs import app

HOME = Path(unveil.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMANDS = {"assess/advice.py", "report/page.py"}
"""What writes commands out, for people to run them, and a style sheet, whose variables begin so."""
FORMS = {"unveil scan checkpoint 1", "unveil check: "}
"""How a file of ours begins, and what a suite of tests is called."""


def texts(path: Path) -> list[tuple[int, str]]:
    """Return the texts that a module may show, with their lines: all but docstrings."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    documented = {node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and node not in documented]
    return [(node.lineno, node.value) for node in constants if isinstance(node.value, str)]


LIBRARY = [path for path in sorted(HOME.rglob("*.py")) if path.relative_to(HOME).parts[0] not in ("cli", "app")]


@cache
def command() -> re.Pattern[str]:
    """Return what the name of a command looks like."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return re.compile(rf"\bunveil ({'|'.join(sorted(commands))})\b")


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.relative_to(HOME).as_posix())
def test_no_message_of_the_library_names_a_command_or_an_option(path: Path) -> None:
    if path.relative_to(HOME).as_posix() in COMMANDS:
        return
    said = texts(path)
    assert [(line, text) for line, text in said if command().search(text) and text not in FORMS] == []
    assert [(line, text) for line, text in said if OPTION.search(text)] == []


def test_the_command_line_says_the_option_of_an_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "adult"]) == 2
    assert run(["measure", "adult", "--key", "sex", "--sensitive", "race", "--l", "odd:3"]) == 2
    assert run(["dr", "adult", "--key", "age", "--sensitive", "sex"]) == 0
    shown = capsys.readouterr()
    assert "--l takes distinct:L" in shown.err
    assert "`" not in shown.err
    assert "more; --json has all" in shown.out


def test_what_is_no_option_of_the_verb_stays_an_argument() -> None:
    assert run(["datasets"]) == 0
    assert said_in_options("see `signed`, the whole answer has all") == "see `signed`, --json has all"
    assert run(["table", "adult", "--by", "sex", "--by", "race"]) == 0
    assert said_in_options("see `signed` and `hierarchies`") == "see --signed and --hierarchy"
