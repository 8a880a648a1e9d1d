"""The documentation as its readers meet it: every example runs, every link leads somewhere, nothing public is left out.

A page shows a file as a block whose first line names it (```csv people.csv), and a command in a ```console block, after a
dollar sign, with what it prints below it: spacing does not matter, `...` stands for anything. A command that must fail ends
in a comment with its code, `# exit 2`. Python examples are doctests, which pytest collects itself.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from website import reference

import unveil
from helpers import ROOT
from unveil import errors
from unveil.cli import run
from unveil.cli.verbs import app

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
VERBS: dict[str, Any] = {
    f"{name} {part}".strip(): command
    for name, verb in getattr(typer.main.get_command(app), "commands", {}).items()
    for part, command in getattr(verb, "commands", {"": verb}).items()
}
"""Every verb, and every part of one that has parts."""
WIDTH = "100"
"""The columns of the terminal that the pages show."""

FENCE = re.compile(r"^```(?P<language>\w*)(?: (?P<file>\S+))?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
EXIT = re.compile(r"\s+# exit (?P<code>\d+)$")


@dataclass(frozen=True, slots=True)
class Example:
    """A command, the exit code it must have, and what the page shows of its output (nothing: anything goes)."""

    command: str
    code: int
    shown: str


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def examples(body: str) -> Iterator[Example]:
    """Split a console block at its dollar signs; a backslash continues a command on the next line."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, shown = part.replace("\\\n", " ").partition("\n")
        code = EXIT.search(command)
        yield Example(EXIT.sub("", command), int(code["code"]) if code else 0, shown.strip())


def executed(command: str) -> tuple[int, str]:
    """Return the exit code and all that is printed: by a shell where there is a pipe, else in this process, which is faster."""
    if " | " in command or " < " in command or command.startswith("openssl "):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path},
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout.decode()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = run(shlex.split(command)[1:])
    return code, printed.getvalue()


def agrees(shown: str, printed: str) -> bool:
    parts = (re.escape("".join(part.split())) for part in shown.split("..."))
    return re.fullmatch(".*".join(parts), "".join(printed.split())) is not None


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


def section(page: Path, title: str) -> str:
    """Return what stands below a heading, up to the next heading of any level."""
    found = re.search(rf"^#+ {re.escape(title)}$(?P<body>.*?)(?=^#|\Z)", prose(page), re.MULTILINE | re.DOTALL)
    return found["body"] if found else ""


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked to."""
    titles = (match["title"] for match in HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    for block in FENCE.finditer(page.read_text("utf-8")):
        if block["file"]:
            tmp_path.joinpath(block["file"]).write_text(block["body"], "utf-8")
        if block["language"] != "console":
            continue
        for example in examples(block["body"]):
            if not re.search(r"\bunveil |^openssl ", example.command):
                continue
            code, printed = executed(example.command)
            if code != example.code or (example.shown and not agrees(example.shown, printed)):
                pytest.fail(f"{example.command}\nprints, with exit code {code}:\n{printed}", pytrace=False)


def test_the_picture_is_what_the_software_draws() -> None:
    command = [sys.executable, str(ROOT / "website" / "picture.py")]
    drawn = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    assert drawn.decode() == DOCS.joinpath("pairs.svg").read_text("utf-8")  # else: python website/picture.py > docs/pairs.svg


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_python_examples_are_doctests(page: Path) -> None:
    blocks = [block["body"] for block in FENCE.finditer(page.read_text("utf-8")) if block["language"] == "python"]
    assert all(block.startswith(">>> ") for block in blocks)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(prose(page)):
        path, _, anchor = match["target"].partition("#")
        if path.startswith(("https:", "http:", "mailto:")):
            continue
        target = page.parent / path if path else page
        assert target.exists(), match["target"]
        assert not anchor or anchor in anchors(target), match["target"]


def test_the_index_leads_to_every_page() -> None:
    index = DOCS / "index.md"
    targets = {(DOCS / match["target"].partition("#")[0]).resolve() for match in LINK.finditer(prose(index))}
    pages = {page for page in DOCS.rglob("*.md") if page != index and "decisions" not in page.parts}
    assert pages <= targets, sorted(map(named, pages - targets))


@pytest.mark.parametrize("page", sorted(DOCS.joinpath("measures").glob("*.md")), ids=named)
def test_a_measure_says_what_it_answers_and_when_it_misleads(page: Path) -> None:
    assert {"the-question", "the-formula", "how-to-read-it", "when-it-misleads", "references"} <= anchors(page)


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_line_page_has_every_verb_and_option(verb: str) -> None:
    found = section(DOCS / "command-line.md", f"unveil {verb}")
    options = {option for parameter in VERBS[verb].params for option in parameter.opts if option.startswith("--")}
    assert options
    assert {option for option in options if f"`{option}" not in found} == set()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_generated_tables_are_what_the_code_says(page: Path) -> None:
    text = page.read_text("utf-8")
    assert reference.generated(text) == text  # else: make docs-reference


def test_every_table_that_can_be_generated_stands_on_a_page() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    tables = [block["what"] for block in reference.BLOCK.finditer(text)]
    assert sorted(tables) == sorted(set(tables))
    assert {f"options of unveil {verb}" for verb in VERBS} <= set(tables)
    assert {"verbs", "mechanisms", "models", "policy rules"} <= set(tables)


@pytest.mark.parametrize("name", [*reference.mechanisms(), *reference.models()])
def test_every_parameter_of_a_mechanism_or_model_is_explained(name: str) -> None:
    kind: Any = reference.mechanisms().get(name) or reference.models()[name]
    page = "python.md" if name in reference.models() else "parameters.md"
    body = DOCS.joinpath(page).read_text("utf-8").partition(f"`{name}(" if page == "python.md" else f"### {name}\n")[2]
    names = set(inspect.signature(kind).parameters) - {"scale"}  # of t-closeness, filled in by whoever measures it
    assert {one for one in names if not re.search(rf"\b{one}\b", body.partition("\n###")[0])} == set()


@pytest.mark.parametrize("name", unveil.__all__)
def test_the_python_page_has_an_example_of_every_public_name(name: str) -> None:
    text = DOCS.joinpath("python.md").read_text("utf-8")
    assert re.search(rf"`unveil\.{name}\b", text)
    assert re.search(rf"^>>> .*\b{name}\b", text, re.MULTILINE)


def test_every_error_is_documented() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    classes = [name for name in errors.__all__ if isinstance(getattr(errors, name), type)]
    assert classes
    assert [name for name in classes if f"`{name}`" not in text] == []


THESIS = (
    "a posteriori assessment", "a priori assessment", "anonymisation", "categorical attribute", "sensitive attribute",
    "continuous attribute", "data disclosure", "data processor", "Discrimination Rate", "identifiable natural person", "identifier",
    "k-anonymity", "microdata", "original data", "personal data", "pseudonymisation", "key attribute", "record linkage", "respondent",
    "Semantic Discrimination Rate", "semantic partition", "synthetic data",
)  # fmt: skip
"""The terms of the glossary of the thesis."""


NOUNS = {"source", "joint count table", "study", "pair", "release", "run", "l-diversity", "t-closeness", "lattice", "masking"}
"""What carries the software, and what every user meets."""


def test_the_glossary_lists_every_term_once_and_those_of_the_thesis() -> None:
    entries = re.findall(r"^\| (?!term \||-)(.+?) \| ", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term.removesuffix(" (T)") for entry in entries for term in entry.split(", ")]
    assert [term for term in terms if terms.count(term) > 1] == []
    marked = [entry for entry in entries if "(T)" in entry]
    assert len(marked) == len(THESIS)
    assert {*THESIS, *NOUNS, "anonymity set"} <= set(terms)
