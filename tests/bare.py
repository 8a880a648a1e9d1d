"""The package with its hard dependencies alone: what needs no extra works, and what needs one says how to install it.

`make bare` runs this in an environment of its own, without the other tests' fixtures.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import pkgutil
import re
import shlex
from collections.abc import Callable
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import unveil
from unveil.cli import run
from unveil.errors import MissingExtraError

ROOT = Path(__file__).resolve().parent.parent
MODULES = {
    "scikit-learn": "sklearn", "adbc-driver-postgresql": "adbc_driver_postgresql", "confluent-kafka": "confluent_kafka",
    "prometheus-client": "prometheus_client", "python-multipart": "python_multipart", "vl-convert-python": "vl_convert",
}  # fmt: skip
APP = "unveil.app."
"""Its screens are made of what the extras `app` and `serve` bring."""
EXTRAS: dict[str, list[str]] = {}
for requirement in requires("unveil") or ():
    if extra := re.search(r"extra == ['\"]([\w-]+)['\"]", requirement):
        EXTRAS.setdefault(extra[1], []).append(re.match(r"[\w-]+", requirement)[0])  # type: ignore[index]

RECORDS = {"a": [1, 1, 2, 2, 3, 3], "b": ["x", "y", "x", "y", "x", "y"], "c": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]}


def _frame() -> Any:
    import polars as pl

    return pl.DataFrame(RECORDS)


def _gate() -> Any:
    return unveil.Gate(_frame(), ledger="gate.db", key="a", sensitive="c")


def _served() -> None:
    from unveil.app.gate_server import application

    application(_gate(), {"eve": "a token of her own, long enough"})


def _app() -> None:
    from unveil.app.server import serve_app

    serve_app(None, browser=False)


def _metrics() -> None:
    from unveil.stream.metrics import MetricsPage

    MetricsPage(0)


def _records(address: str) -> Any:
    from unveil.sources.streams.opening import open_records

    return open_records(address)


def _suppressed(**options: Any) -> Any:
    return unveil.table(_frame(), ["a", "b"]).suppress("threshold=3", **options)


NEEDING: dict[str, list[Callable[[], Any]]] = {
    "app": [_app],
    "kafka": [lambda: _records("kafka://localhost:1/people")],
    "metrics": [_metrics],
    "optimal": [lambda: _suppressed(method="optimal", solver="scip")],
    "query": [lambda: _gate().ask("SELECT COUNT(*) FROM data")],
    "redis": [lambda: _records("redis://localhost:1/people")],
    "serve": [_served],
    "tables": [lambda: _suppressed(method="lp")],
    "charts": [lambda: unveil.assess("paper-4", key=["ZIP", "Age"]).chart("attributes")],
    "dp": [lambda: unveil.mechanisms.dp_count(_frame(), epsilon=1.0)],
    "duckdb": [lambda: unveil.measure("people.duckdb?table=people", "a")],
    "excel": [lambda: unveil.measure("people.xlsx", "a")],
    "postgres": [lambda: unveil.measure("postgresql://localhost:1/nothing?table=people", "a")],
    "sign": [lambda: unveil.verify("people.csv", "public.pem")],
    "spark": [lambda: unveil.measure("spark://local?path=people.parquet", "a")],
    "stats-files": [lambda: unveil.measure("people.sav", "a"), lambda: unveil.measure("people.dta", "a")],
    "tasks": [
        lambda: unveil.loss(_frame(), _frame(), same_order=True, tasks="b"),
        lambda: unveil.mechanisms.synthesize(_frame(), ["a", "b", "c"], method="trees"),
    ],
}
"""For each extra, calls that need it."""


def test_no_extra_is_installed() -> None:
    packages = {package for group in EXTRAS.values() for package in group}
    assert packages
    assert [package for package in packages if find_spec(MODULES.get(package, package)) is not None] == []


def test_every_public_name_can_be_had() -> None:
    assert [name for name in unveil.__all__ if getattr(unveil, name, None) is None] == []


def test_every_module_can_be_imported() -> None:
    names = [module.name for module in pkgutil.walk_packages(unveil.__path__, "unveil.") if not module.name.endswith("__main__")]
    assert len(names) > 100
    lacking: dict[str, str] = {}
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            lacking[name] = str(error.name).split(".")[0]
    brought = {MODULES.get(package, package) for group in EXTRAS.values() for package in group}
    assert lacking.pop("unveil.testing") == "hypothesis", "its strategies are Hypothesis's"
    assert [name for name, package in lacking.items() if not name.startswith(APP) or package not in brought] == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_missing_extra_says_how_to_install_it(extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("people.sav", "people.dta", "people.duckdb", "people.parquet", "people.xlsx"):
        tmp_path.joinpath(name).write_bytes(b"no such file can be read without the extra")
    for call in NEEDING[extra]:
        with pytest.raises(MissingExtraError, match=rf"pip install 'unveil\[{extra}\]'"):
            call()


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_a_missing_frame_library_says_how_to_install_it(library: Any) -> None:
    measured = unveil.measure("paper-3", key="Age*")
    assert len(measured.to_frame()) > 0
    with pytest.raises(MissingExtraError, match=f"pip install {library}$"):
        measured.to_frame(library)


def test_the_command_line_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.joinpath("people.sav").write_bytes(b"something")
    assert run(["measure", str(tmp_path / "people.sav"), "--key", "a"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install 'unveil[stats-files]'" in said


def test_the_examples_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = ROOT.joinpath("README.md").read_text("utf-8")
    for language, name, body in re.findall(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if name:
            tmp_path.joinpath(name).write_text(body, "utf-8")
        if language == "console":
            _commands(body)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=flags)
    assert tried
    assert not failed


def _commands(body: str) -> None:
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command = part.replace("\\\n", " ").partition("\n")[0]
        words = shlex.split(command, comments=True)
        code = re.search(r"# exit (\d+)$", command)
        if words[0] == "unveil":
            with contextlib.redirect_stdout(io.StringIO()):
                assert run(words[1:]) == (int(code[1]) if code else 0), command


def test_a_report_and_a_release_are_written(tmp_path: Path) -> None:
    report, answer, release = (tmp_path / name for name in ("report.html", "answer.json", "release.parquet"))
    words = ["paper-4", "--key", "ZIP", "--key", "Age", "--sensitive", "Disease"]
    assert run(["assess", *words, "--out", str(report)]) == 0
    assert "<svg" in report.read_text("utf-8")
    assert run(["dr", *words, "--out", str(answer)]) == 0
    assert json.loads(answer.read_text("utf-8"))["records"] == 9
    assert run(["anonymize", "paper-4", "--key", "Age", "--k", "2", "--out", str(release)]) == 0
    k = unveil.measure(release, "Age", suppressed="class")["k_anonymity"].value
    assert k is not None
    assert k >= 2
