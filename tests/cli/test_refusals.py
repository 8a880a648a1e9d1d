"""Bad input: one plain line that names the option, exit code 2, and no option that silently has no effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import unveil
from unveil.cli import run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("measure paper-2 --key Age* --k few", "--k must be a whole number, not a text."),
        ("measure paper-2 --key Age* --k 0", "--k is 0; it must be at least 1."),
        ("dr paper-2 --key Age* --confidence high", "--confidence must be a number, not a text."),
        ("app --port 70000", "--port is 70,000; it must be at most 65,535."),
        ("measure paper-2 --key Age* --k 1.5", "--k must be a whole number, not a float."),
        ("attack paper-2 paper-2 --same-order --seed=-1", "--seed is -1; it must be at least 0."),
        ("scan paper-2 --key Age* --max-size -1", "--max-size is -1; it must be at least 1."),
        ("watch paper-2 --key Age* --window 0", "--window is 0; it must be from 1 to "),
        ("anonymize paper-2 --out release", "the file name 'release' does not end in a release's form; it must be one of: .csv"),
        (
            "table paper-2 --by Disease --rule threshold=3 --zeros keep",
            "--zeros 'keep' is unknown; it is one of: publish, suppress, structural.",
        ),
        ("dr paper-2 --key Age* --interval --max-distinct 9", "--max-distinct does not go with --interval"),
        ("compare thesis-4.2 a=thesis-4.3 --key Age --value Age", "--value goes with --by."),
        ("compare thesis-4.2 a=thesis-4.3 --key Age --same-order --task Aeg", "column 'Aeg' not found; columns are: ZIP, "),
        ("check paper-2 --policy cell-size-5 --key Age* --same-order", "--same-order goes with --original."),
        ("check paper-2 --policy cell-size-5 --key Age* --order Zip=1,2", "--order names column 'Zip'; it takes none here."),
        ("front paper-4 --key Age --sensitive Disease --order Aeg=1,2", "--order names column 'Aeg'; it takes one of: ZIP, "),
        ("table paper-2 --by Disease --figures n", "--figures goes with --audit."),
        ("table paper-2 --by Disease --id Disease", "--id goes with --protect cell-key."),
        ("table paper-2 --by Disease --base 3", "--base goes with --protect round or small-counts."),
        ("table paper-2 --by Disease --protect round --solver scip", "--solver goes with --protect suppress."),
        ("table paper-2 --by Disease --form crosstab", "--form goes with --out FILE.csv, .parquet or .xlsx."),
        ("table --audit x.csv --by Disease --protect suppress", "--protect does not go with --audit."),
        ("table --audit x.csv --by Disease --seed 3", "--seed does not go with --audit."),
        ("dr paper-2 --key Age* --confidence 0.5", "--confidence goes with --interval."),
        ("dr paper-2 --key Age* --seed 5", "--seed goes with --max-distinct."),
        ("dr paper-2 --key Age* --nulls wildcard", "--nulls 'wildcard' is unknown; it is one of: category, drop, error."),
        ("measure paper-2 --key Age* --wildcard-weight 0.5", "--wildcard-weight goes with --nulls wildcard."),
        (
            "check thesis-4.3 --original thesis-4.2 --policy cell-size-5 --key Age* --id Age --same-order",
            "the correspondence is given in 2 ways (id, same order); give one.",
        ),
        (
            "compare thesis-4.2 a=thesis-4.3 --key Age --id Age --same-order",
            "an id is named, but every release has a correspondence of its own; leave the id out.",
        ),
        ("table paper-2 --by Disease --form wide", "--form 'wide' is unknown; it is one of: long, crosstab."),
        ("table paper-2 --by Disease --rule threshold=3 --protect suppress --solver best", "--solver 'best' is unknown"),
        ("anonymize paper-2 --key Age* --k 2 --delay 10", "--delay goes with --stream."),
        ("hierarchy check some.csv --separator ;", "--separator goes with --data."),
        ("hierarchy show some.csv --text zip", "--text goes with --data."),
        ("hierarchy check .", ".: the file cannot be read: is a directory."),
    ],
)
def test_bad_input_ends_in_one_plain_line(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"unveil: {message}")
    assert said.err.count("\n") == 1


SWAP = "anonymize adult --key age --key sex --sensitive occupation --mechanism swap --attribute age"
UNHEEDED = [
    "--k 5", "--t 0.1:equal", "--l distinct:2", "--k-map 5", "--presence 0:0.5", "--km 5:2:age", "--uniqueness sample:0.1",
    "--suppression 0.1", "--level age=1:2", "--weight age=2", "--factor 0.7", "--objective entropy", "--time-limit 9",
    "--node-limit 9", "--order occupation=a,b", "--population adult",
]  # fmt: skip


@pytest.mark.parametrize("words", UNHEEDED)
def test_what_a_mechanism_does_not_take_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SWAP.split(), *words.split()]) == 2
    assert f"{words.split(maxsplit=1)[0]} has no effect on swap." in capsys.readouterr().err


@pytest.mark.parametrize("words", ["--suppression 0.1", "--level age=1:2", "--order occupation=a,b", "--population adult"])
def test_what_the_steps_of_a_project_do_not_take_is_refused(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "unveil.toml"
    steps = '[protect.ages]\nmechanism = "swap"\nattributes = ["age"]\n'
    project.write_text(f'[data]\npath = "adult"\n[attributes.age]\nrole = "key"\n{steps}', encoding="utf-8")
    assert run(["anonymize", "adult", "--project", str(project), *words.split()]) == 2
    assert "has no effect on the steps of the project" in capsys.readouterr().err


def test_an_order_that_is_typed_reaches_the_models_of_a_mechanism(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "anonymize",
        "adult",
        "--key",
        "age",
        "--key",
        "sex",
        "--mechanism",
        "mondrian",
        "--k",
        "5",
        "--sensitive",
        "education",
        "--t",
        "0.2:rank",
        "--json",
    ]
    values = sorted(unveil.datasets.adult()["education"].unique())
    scores = []
    for order in (values, [*values[1::2], *values[::2]]):
        assert run([*words, "--order", f"education={','.join(order)}"]) in {0, 1}
        scores.append(json.loads(capsys.readouterr().out))
    assert scores[0]["models"] != scores[1]["models"]
