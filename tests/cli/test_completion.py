"""What a shell completes: every option whose values are known has them, as the library takes them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from unveil.assess.release_figures import LOSSES
from unveil.attacks.linkage.known_method import METHODS as KNOWN_METHODS
from unveil.attributes import CLASS_NULLS, NULLS
from unveil.cli import main
from unveil.cli.verbs import with_verb
from unveil.mechanisms.differential_privacy.accounting import NEIGHBOURS
from unveil.partitions.builders.dates import UNITS
from unveil.project.presets import PRESETS
from unveil.protect.steps import mechanism_names
from unveil.queries import POLICIES
from unveil.search.lattice.objectives import JOINED_OBJECTIVES, OBJECTIVES
from unveil.sources import datasets
from unveil.tables.rules import RULES

FILES = {"DIR", "FILE", "NAME=FILE", "PEM", "SCHEMA", "SINK"}
"""What the shell completes by itself, the last with a topic as well."""
NUMBERS = {
    "A[:COLUMN]", "B", "BENEFIT:LOSS:GAIN:COST", "EPSILON[:DELTA]", "GAIN:COST", "K:M:COLUMN", "K[:FRACTION]", "LO:HI", "LOW:HIGH",
    "K", "N", "N1,N2,...", "N|TIME", "PORT", "P[:COLUMN]", "S", "SECONDS", "SHARE", "TIME", "T[:DISTANCE][:COLUMN]", "W1,W2,...", "X",
}  # fmt: skip
"""What begins with a number."""
TEXTS = {
    "ADDRESS", "ANALYST", "CHAR", "CODE", "COMMAND", "HEX", "LABEL", "NAME:COLUMN=FILE", "NAME=RELEASE", "NAME=RULE(...)", "NEED",
    "QUESTION", "TEXT", "V1,V2,...",
}  # fmt: skip
"""What begins with a word that only the user knows."""
OPEN = {"--encoding", "--setting"}
"""Options with more values than a list could hold: encodings of Python, properties of Kafka."""
NAMED = dict.fromkeys(("data", "original", "release", "source"), "adult") | {"mechanism": "pram"}


def verbs(program: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Yield every verb with its name, those of groups too."""
    for name, one in getattr(program, "commands", {}).items():
        yield from verbs(one, *names, name)
    if not hasattr(program, "commands"):
        yield " ".join(names), program


def offered_by(verb: Any, parameter: Any) -> list[str]:
    """Return what is offered before anything is typed, of the data set Adult."""
    context = typer.Context(verb, resilient_parsing=True)
    context.params = dict(NAMED)
    return [one.value for one in parameter.shell_complete(context, "")]


PARAMETERS = [
    (name, verb, one)
    for name, verb in verbs(typer.main.get_command(with_verb()))
    for one in verb.params
    if not getattr(one, "is_flag", False)
]


def test_every_option_is_completed_unless_nobody_knows_its_values() -> None:
    """An option without a metavar takes a number; who adds one that takes words says which, by its metavar or `offering`."""
    free = FILES | NUMBERS | TEXTS
    bare = [
        f"{name} {one.opts[0]} {one.metavar}"
        for name, verb, one in PARAMETERS
        if (one.metavar is None and one.type_descriptor.annotation not in (int, float)) or (one.metavar not in {None, *free})
        if one.opts[0] not in OPEN and not offered_by(verb, one)
    ]
    assert bare == []


def test_options_whose_metavars_name_a_column_complete_columns() -> None:
    by_column = [(name, verb, one) for name, verb, one in PARAMETERS if str(one.metavar).startswith("COLUMN")]
    assert len(by_column) > 80
    assert {
        name for name, verb, one in by_column if not any(word.startswith("workclass") for word in offered_by(verb, one))
    } == set()


@pytest.mark.parametrize(
    ("verb", "option", "words"),
    [
        ("dr", "--nulls", lambda: NULLS),
        ("measure", "--nulls", lambda: CLASS_NULLS),
        ("anonymize", "--mechanism", lambda: (*mechanism_names(), "any")),
        ("anonymize", "--objective", lambda: (*OBJECTIVES, *JOINED_OBJECTIVES, "classification:")),
        ("anonymize", "--neighbours", lambda: [one.replace(" ", r"\ ") for one in NEIGHBOURS]),
        ("attack", "--method", lambda: (*KNOWN_METHODS, "generalize")),
        ("check", "--policy", lambda: PRESETS),
        ("compare", "--loss", lambda: LOSSES),
        ("query", "--policy", lambda: POLICIES),
        ("table", "--rule", lambda: [word if word in ("group", "request") else f"{word}=" for word in RULES]),
        ("hierarchy build", "--dates", lambda: UNITS),
        ("datasets", "name", datasets.names),
    ],
)
def test_the_words_offered_are_those_the_library_takes(
    verb: str, option: str, words: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_UNVEIL_COMPLETE", "complete_bash")
    found = [offered_by(command, one) for name, command, one in PARAMETERS if name == verb and option in one.opts]
    assert [sorted(one) for one in found] == [sorted(words())]


def completed(typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what bash would offer for the words typed so far."""
    monkeypatch.setenv("_UNVEIL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    return [line for line in capsys.readouterr().out.splitlines() if line]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("unveil me", ["measure", "mechanisms"]),
        ("unveil hierarchy ch", ["check"]),
        ("unveil dr --sens", ["--sensitive"]),
        ("unveil attack --same", ["--same-order"]),
        ("unveil dr ad", ["adult", "adult-raw"]),
        ("unveil init ad", ["adult", "adult-raw"]),
        ("unveil dr adult --key ra", ["race"]),
        ("unveil dr adult --weights fn", ["fnlwgt"]),
        ("unveil dr adult --nulls d", ["drop"]),
        ("unveil measure adult --nulls w", ["wildcard"]),
        ("unveil anonymize adult --mechanism microa", ["microaggregate"]),
        ("unveil anonymize adult --mechanism mond", ["mondrian"]),
        ("unveil anonymize adult --mechanism pram --set ret", ["retention=", "retention=VALUE"]),
        ("unveil check adult --policy cell", ["cell-size-3", "cell-size-5", "cell-size-11", "cell-size-20"]),
        ("unveil table adult --linked sex,ra", ["sex,race"]),
        ("unveil table adult --zeros s", ["suppress", "structural"]),
        ("unveil measure adult --hierarchy rac", ["race=", "race=FILE"]),
        ("unveil measure adult --l r", ["recursive:", "recursive:C:L"]),
        ("unveil dr paper-2 --key Ag", [r"Age\*"]),
        ("unveil attack thesis-4.2 thesis-4.3 --map ZI", ["ZIP=", r"ZIP\*="]),
        ("unveil attack thesis-4.2 thesis-4.3 --sensitive loc", [r"location\ 1", r"location\ 2"]),
        ("unveil hierarchy show some.csv --data adult --column rac", ["race"]),
        ("unveil dr nowhere.csv --key a", []),
        ("unveil dr adult --out a", []),  # files are for the shell
    ],
)
def test_a_shell_completes_verbs_options_and_values(
    typed: str, offered: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed(typed, monkeypatch, capsys) == offered


def test_columns_of_a_project_are_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("town,age\nRennes,40\n")
    Path("unveil.toml").write_text('[data]\npath = "people.csv"\n')
    assert completed("unveil dr --key to", monkeypatch, capsys) == ["town"]
    Path("unveil.toml").rename("other.toml")
    assert completed("unveil dr --project other.toml --key to", monkeypatch, capsys) == ["town"]


def test_what_goes_wrong_at_a_tab_is_not_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("_UNVEIL_COMPLETE", "complete_bash")
    monkeypatch.delenv("COMP_WORDS", raising=False)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 1
    assert capsys.readouterr() == ("", "")


def test_completion_is_installed_where_the_home_is(tmp_path: Path) -> None:
    """In a process of its own: the shell is told by the process around it."""
    words = [sys.executable, "-c", "from unveil.cli import main; main()", "--install-completion"]
    script = shlex.join(words) + "; echo ended with $?"
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True, timeout=120)
    assert "ended with 0" in done.stdout, done.stderr
    assert "complete" in (tmp_path / ".bash_completions" / "unveil.sh").read_text()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_is_printed(shell: str) -> None:
    """As the documentation says, for a shell that is not the one around."""
    words = [sys.executable, "-c", "from unveil.cli import main; main()"]
    environment = {**os.environ, "_UNVEIL_COMPLETE": f"source_{shell}"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=True, timeout=120)
    assert f"complete_{shell}" in done.stdout
    assert done.stderr == ""


def test_bash_offers_what_the_script_asks_for(tmp_path: Path) -> None:
    """A real bash, with the real script, which calls the program for each Tab."""
    program = tmp_path / "unveil"
    program.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c 'from unveil.cli import main; main()' \"$@\"\n")
    program.chmod(0o755)
    tab = (
        'eval "$(_UNVEIL_COMPLETE=source_bash unveil)"; COMP_WORDS=(unveil dr adult --key educ); COMP_CWORD=4; '
        '_unveil_completion unveil; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", tab], capture_output=True, text=True, env=environment, check=True, timeout=120)
    assert done.stdout.split() == ["education", "education-num"]
