"""The public contract, pinned: `--json` of every verb on built-in data, every public signature, the headings of the HTML.

What is recorded stands in files beside this one. A change that is meant is listed under `docs/decisions`, and recorded anew:
`UNVEIL_CONTRACT=record pytest tests/contract`, then read the difference before it is committed.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import unveil
from unveil import mechanisms
from unveil.cli import run

HERE = Path(__file__).parent
RECORDING = os.environ.get("UNVEIL_CONTRACT") == "record"
DIGITS = 9
VOLATILE = {"seconds", "version", "unveil", "date", "loops"}
"""What differs from run to run, or with every release of the software."""

KEY, SENSITIVE = ["--key", "ZIP", "--key", "Age"], ["--sensitive", "Disease"]
RELEASED = ["--key", "ZIP*", "--key", "Age*"]
NEED = ["--need", "illness: Disease given Age at least 0.5"]

COMMANDS: dict[str, list[str]] = {
    "dr": ["dr", "paper-4", *KEY, *SENSITIVE, "--unmasked"],
    "dr-identity": ["dr", "paper-4", *KEY, "--unmasked"],
    "dr-masked": ["dr", "paper-4", *KEY, *SENSITIVE],
    "dr-adult": ["dr", "adult", "--key", "sex", "--key", "race", "--sensitive", "occupation"],
    "scan": ["scan", "paper-4", *KEY, "--key", "Salary", *SENSITIVE],
    "identifiers": ["identifiers", "adult"],
    "measure": ["measure", "paper-3", *RELEASED, *SENSITIVE, "--k", "3", "--unmasked"],
    "measure-masked": ["measure", "paper-3", *RELEASED, *SENSITIVE, "--k", "3"],
    "attack": ["attack", "paper-4", "paper-3", "--same-order", *KEY, "--map", "ZIP=ZIP*", "--map", "Age=Age*", *SENSITIVE, "--unmasked"],
    "utility": ["utility", "paper-4", *NEED, "--unmasked"],
    "loss": ["loss", "paper-4", "paper-4", "--same-order", *KEY],
    "anonymize": ["anonymize", "paper-4", *KEY, "--k", "3", "--seed", "1"],
    "anonymize-mondrian": ["anonymize", "paper-4", "--mechanism", "mondrian", *KEY, "--k", "3", "--seed", "1"],
    "anonymize-swap": ["anonymize", "paper-4", "--mechanism", "swap", "--attribute", "Disease", "--seed", "1"],
    "anonymize-suppress": [
        "anonymize", "paper-4", "--mechanism", "suppress_locally", "--attribute", "Age", "--set", "k=2", "--seed", "1",
    ],
    "front": ["front", "paper-4", *KEY, *SENSITIVE, *NEED[:1], "illness: Disease given Age", "--seed", "1"],
    "assess": ["assess", "paper-4", *KEY, *SENSITIVE],
    "compare": ["compare", "paper-4", "other=paper-4", *KEY, *SENSITIVE, "--privacy", "k", "--loss", "suppressed"],
    "check": ["check", "paper-3", "--policy", "cell-size-3", *RELEASED, *SENSITIVE],
    "table": ["table", "paper-4", "--by", "Disease", "--by", "Age", "--rule", "threshold=2"],
    "table-attack": ["table", "adult", "--by", "race", "--by", "sex", "--value", "capital-gain", "--attack"],
    "query": ["query", "thesis-2.1", "SELECT COUNT(*) FROM t WHERE Age >= 32", *SENSITIVE, "--k", "3", "--as", "eve"],
    "unicity": ["unicity", "thesis-location", "--person", "user", "--key", "location", "--key", "period", "--points", "2"],
    "hierarchy-build": ["hierarchy", "build", "paper-4", "--column", "Age"],
    "hierarchy-check": ["hierarchy", "check", "age.csv", "--data", "adult", "--column", "age"],
    "hierarchy-show": ["hierarchy", "show", "age.csv", "--data", "adult", "--column", "age"],
    "hierarchy-partitions": ["hierarchy", "partitions", "paper-4", "paper-4", "--column", "Age", "--same-order"],
    "init": ["init", "paper-4", "--out", "paper.toml"],
    "watch": ["watch", "adult", "--key", "sex", "--sensitive", "race", "--window", "10000", "--every", "10000"],
    "warm-up": ["warm-up"],
    "mechanisms": ["mechanisms"],
    "reproduce": ["reproduce"],
    "datasets": ["datasets"],
}  # fmt: skip
"""Every verb that answers, on tables that everybody has."""

HIERARCHY = ["hierarchy", "build", "adult", "--column", "age", "--interval", "5,10,20", "--out", "age.csv"]

PAGES = ["dr", "scan", "measure", "attack", "utility", "loss", "assess", "compare", "check", "identifiers", "unicity"]


def plain(value: Any) -> Any:
    """Return an answer without what differs from run to run, numbers to nine digits."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items() if name not in VOLATILE}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def held(name: str, found: Any) -> None:
    """Hold an answer against the one recorded; an answer in another order of its names is the same, and not recorded anew."""
    place = HERE / f"{name}.json"
    if RECORDING and (not place.exists() or found != json.loads(place.read_text(encoding="utf-8"))):
        place.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(place.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_verb_answers_as_before(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a gate leaves its ledger
    if "age.csv" in COMMANDS[name]:
        assert run(HIERARCHY) == 0
        capsys.readouterr()
    assert run([*COMMANDS[name], "--json"]) in {0, 1}
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]  # a stream has one for each window
    held(f"json/{name}", plain(lines if name == "watch" else lines[0]))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_headings_it_had(name: str, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert run([*COMMANDS[name], "--out", str(out)]) in {0, 1}
    found = re.findall(r"<(h[1-6]|summary|caption)[^>]*>(.*?)</\1>", out.read_text("utf-8"), re.DOTALL)
    held(f"pages/{name}", [[level, " ".join(re.sub(r"<[^>]+>", "", text).split())] for level, text in found])


def signatures() -> dict[str, str]:
    """Return every public call with its parameters and their defaults."""
    found: dict[str, str] = {}
    for home, names in ((unveil, unveil.__all__), (mechanisms, mechanisms.__all__), (import_module("unveil.models"), None)):
        for name in sorted(names or home.__all__):
            thing = getattr(home, name)
            if callable(thing):
                found[f"{home.__name__}.{name}"] = _signature(thing)
    return found


def _signature(thing: Any) -> str:
    parameters = inspect.signature(thing).parameters.values()
    return ", ".join(f"{'*' if one.kind is one.KEYWORD_ONLY else ''}{one.name}{_default(one)}" for one in parameters)


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is parameter.empty else f"={parameter.default!r}"


def test_public_calls_take_what_they_took() -> None:
    held("signatures", signatures())


def test_every_verb_is_pinned() -> None:
    import typer

    from unveil.cli.verbs import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    verbs: set[tuple[str, ...]] = {(name,) for name in commands if name not in ("app", "hierarchy")}  # an app has no answer
    verbs |= {("hierarchy", name) for name in commands["hierarchy"].commands}
    assert verbs == {tuple(words[: 1 + (words[0] == "hierarchy")]) for words in COMMANDS.values()}
