"""The scripts of `examples/`: each runs as it stands, in an empty folder, and says what it is for."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from helpers import ROOT

SAYS = {
    "compare_protections": ("groups of 5: mean squared error", "noise: mean squared error", "of the records are found again"),
    "first_look": ("4 columns single out records at a rate of 0.", "age on its own: 0.38"),
    "gate_in_a_pipeline": ("k_anonymity: 1, required at least 3; 23 of 30,162 records, in 15 classes, fall short",),
    "in_the_database": ("k = 28", "DiscriminationRate(region + age -> disease: 0.0011, sketchy-identifier)"),
    "is_my_synthetic_file_safe": ("independent: 0.", "of the unique people are in the file", "membership"),
    "private_counts": ("shape: (4, 2)", "[60, 120]"),
    "release_and_check": ("records are suppressed", "Risk of the identity attack: 0.", "The policy is met."),
    "what_values_mean": ("tells the disease at a rate of 0.50", "whether it is serious at a rate of 1.00"),
}
WRITES = {"first_look": {"assessment.html"}, "release_and_check": {"release.csv", "private-link.csv", "verdict.json"}}
EXITS = {"gate_in_a_pipeline": 1}


def test_every_example_is_known() -> None:
    assert {script.stem for script in ROOT.joinpath("examples").glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    code: object = 0
    try:
        runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr().out
    assert code == EXITS.get(name, 0)
    assert [text for text in SAYS[name] if text not in printed] == []
    assert WRITES.get(name, set()) <= {file.name for file in tmp_path.iterdir()}
