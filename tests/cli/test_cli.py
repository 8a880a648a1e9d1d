"""The command line as its users meet it: real processes, real files, what comes out where, and with which exit code."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer

import unveil
from helpers import started
from unveil.cli import run

UNVEIL = str(Path(sys.executable).with_name("unveil"))


def call(*arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([UNVEIL, *arguments], input=stdin, capture_output=True, cwd=cwd, timeout=120, check=False)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("zip,age,disease\n01000,22,flu\n01000,35,cancer\n02000,22,flu\n02000,,aids\n", encoding="utf-8")
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(arguments) == 0
    out = capsys.readouterr().out
    return json.loads(out)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail: exit code 2, one line on standard error, nothing on standard output."""
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("unveil: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_dr_gives_the_contract_as_json(people: Path) -> None:
    done = call("dr", str(people), "--key", "zip", "--key", "age", "--sensitive", "disease", "--json", "--unmasked")
    assert done.returncode == 0
    assert done.stderr == b""
    answer = json.loads(done.stdout)
    assert answer == unveil.discrimination_rate(str(people), ["zip", "age"], "disease").to_dict() | {"unmasked": True}
    assert {row["zip"] for row in answer["by_value"]} == {"01000", "02000"}
    assert {"count", "dr", "posterior", "age"} <= answer["by_value"][0].keys()


def test_scan_gives_the_contract_as_json(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = printed(capsys, "scan", str(people), "--key", "zip", "--key", "age", "--sensitive", "disease", "--json")
    assert answer == unveil.scan(str(people), ["zip", "age"], "disease").to_dict()
    assert answer["minimal_identifiers"] == [["age"]]


def test_standard_input_is_read(people: Path) -> None:
    done = call("dr", "-", "--key", "zip", "--sensitive", "disease", "--json", stdin=people.read_bytes())
    assert json.loads(done.stdout)["records"] == 4


def test_a_terminal_table_names_kind_and_rate(people: Path) -> None:
    done = call("dr", str(people), "--key", "zip", "--sensitive", "disease")
    assert done.returncode == 0
    text = done.stdout.decode()
    assert "sketchy-identifier" in text
    assert f"{unveil.discrimination_rate(str(people), 'zip', 'disease').value:.4f}" in text


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet", "html", "txt"])
def test_out_writes_a_file(people: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = people.with_name(f"answer.{suffix}")
    assert run(["dr", str(people), "--key", "zip", "--sensitive", "disease", "--out", str(target)]) == 0
    assert target.stat().st_size > 50
    assert capsys.readouterr().out == ""


def test_values_survive_the_way_to_json_and_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strange = ["a,b", 'say "hi"', "two\nlines", "\N{SNAKE}", "<script>alert(1)</script>", "007", " padded ", "=1+1", "[b]"]
    pl.DataFrame({"y": strange, "x": [str(at % 2) for at in range(len(strange))]}).write_csv(tmp_path / "strange.csv")
    target = tmp_path / "answer.csv"
    words = ["dr", str(tmp_path / "strange.csv"), "--key", "y", "--sensitive", "x", "--json", "--unmasked"]
    answer = printed(capsys, *words, "--out", str(target), "--no-spreadsheet-safe")
    assert {row["y"] for row in answer["by_value"]} == set(strange)
    again = printed(capsys, "dr", str(target), "--key", "y", "--json", "--unmasked")
    assert {row["y"] for row in again["by_value"]} == set(strange)
    page = tmp_path / "answer.html"
    run(["dr", str(tmp_path / "strange.csv"), "--key", "y", "--sensitive", "x", "--unmasked", "--out", str(page)])
    assert "<script>alert" not in page.read_text(encoding="utf-8")


def test_partitions_come_from_json_toml_and_the_project(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = [["flu"], ["cancer", "aids"]]
    (people.parent / "p.json").write_text(json.dumps(blocks), encoding="utf-8")
    (people.parent / "p=q.toml").write_text('blocks = [["flu"], ["cancer", "aids"]]', encoding="utf-8")
    project = people.parent / "unveil.toml"
    project.write_text(
        '[data]\npath = "people.csv"\n[attributes.zip]\nrole = "key"\n[attributes.disease]\nrole = "sensitive"\n'
        '[attributes.disease.partitions]\nserious = [["flu"], ["cancer", "aids"]]\n',
        encoding="utf-8",
    )
    expected = unveil.discrimination_rate(str(people), "zip", "disease", partitions={"disease": blocks}).value
    common = ("dr", str(people), "--key", "zip", "--sensitive", "disease", "--json", "--partition")
    for file in ("p.json", "p=q.toml"):
        assert printed(capsys, *common, f"disease={people.parent / file}")["value"] == pytest.approx(expected)
    said = complaint(capsys, "dr", "--project", str(project), "--partition", "disease=serius")
    assert "did you mean 'serious'" in said
    identity = printed(capsys, "dr", "--project", str(project), "--identity", "--json")
    assert identity["value"] == pytest.approx(unveil.discrimination_rate(str(people), "zip").value)
    by_name = printed(capsys, "dr", "--project", str(project), "--partition", "disease=serious", "--json")
    assert by_name["value"] == pytest.approx(expected)


def test_a_project_in_this_folder_is_read(people: Path) -> None:
    (people.parent / "unveil.toml").write_text(
        '[data]\npath = "people.csv"\nnulls = "drop"\n[attributes.age]\nrole = "key"\n[attributes.disease]\nrole = "sensitive"\n',
        encoding="utf-8",
    )
    done = call("dr", "--json", cwd=people.parent)
    answer = json.loads(done.stdout)
    assert answer["made"]["key"] == ["age"]
    assert (answer["records"], answer["made"]["dropped"]) == (3, 1)


def test_options_of_the_file_are_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("prénom|x\nZoé|?\nAndré|1\n".encode("latin-1"))
    answer = printed(
        capsys,
        "dr",
        str(path),
        "--key",
        "prénom",
        "--sensitive",
        "x",
        "--separator",
        "|",
        "--encoding",
        "latin-1",
        "--missing",
        "?",
        "--json",
        "--unmasked",
    )
    assert {row["prénom"] for row in answer["by_value"]} == {"Zoé", "André"}


def test_reproduce_gives_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    figures = printed(capsys, "reproduce", "--json")["figures"]
    assert len(figures) == 249
    assert all(set(figure) == {"source", "what", "published", "computed", "agreement", "by", "note"} for figure in figures)


def test_datasets_are_listed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = printed(capsys, "datasets", "--json")["datasets"]
    assert {"name": "adult", "records": 30_162}.items() <= listed[0].items()
    assert run(["datasets", "paper-2", "--out", str(tmp_path / "paper-2.csv")]) == 0
    assert pl.read_csv(tmp_path / "paper-2.csv").equals(unveil.datasets.load("paper-2"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("dr", "peopel.csv", "--key", "zip"), "did you mean 'people.csv'"),
        (("dr", "people.csv", "--key", "zpi"), "did you mean 'zip'"),
        (("dr", "people.csv"), "no key attribute is named; use --key to name"),
        (("dr",), "no data is named"),
        (("dr", "people.csv", "--key", "zip", "--sensitive", "zip"), "named as key and as sensitive"),
        (("dr", "people.csv", "--key", "zip", "--nulls", "keep"), "nulls 'keep' is unknown"),
        (("dr", "people.csv", "--key", "zip", "--nulls", "error", "--sensitive", "age"), "nulls found in 'age'"),
        (("dr", "people.csv", "--key", "zip", "--weights", "disease"), "not numbers"),
        (("dr", ".", "--key", "zip"), "folder"),
        (("dr", "empty.csv", "--key", "zip"), "empty"),
        (("dr", "header.csv", "--key", "zip"), "no records"),
        (("dr", "one.csv", "--key", "zip"), "one record only"),
        (("dr", "constant.csv", "--key", "zip", "--sensitive", "disease"), "one value only"),
        (("scan", "constant.csv", "--key", "zip", "--sensitive", "disease"), "one value only"),
        (("dr", "twins.csv", "--key", "zip"), "more than once"),
        (("dr", "ragged.csv", "--key", "zip"), "line 3"),
        (("dr", "latin.csv", "--key", "zip"), "encoding"),
        (
            ("dr", "people.csv", "--key", "zip", "--sensitive", "disease", "--partition", "disease=overlap.json"),
            "more than one block",
        ),
        (("dr", "people.csv", "--key", "zip", "--sensitive", "disease", "--partition", "disease=misses.json"), "2 of 3 values"),
        (("dr", "people.csv", "--key", "zip", "--partition", "disease"), "COLUMN=FILE"),
        (("dr", "people.csv", "--key", "zip", "--out", "answer.docx"), "docx"),
        (("dr", "people.csv", "--key", "zip", "--out", "nowhere/answer.json"), "does not exist"),
        (("dr", "people.csv", "--key", "zip", "--colour"), "--colour"),
        (("dr", "adutl", "--key", "age"), "did you mean 'adult'"),
        (("dr", "people.csv", "--key", "zip", "--identity", "--sensitive", "disease"), "no --sensitive column"),
        (("dx",), "dx"),
        (("datasets", "audlt"), "did you mean 'adult'"),
        (("dr", "people.csv", "--project", "none.toml", "--key", "zip"), "none.toml"),
    ],
)
def test_bad_input_gets_one_clear_line(
    people: Path, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = people.parent
    files: dict[str, bytes] = {
        "empty.csv": b"",
        "header.csv": b"zip,age,disease\n",
        "one.csv": b"zip,age,disease\n01000,22,flu\n",
        "constant.csv": b"zip,age,disease\n01000,22,flu\n02000,22,flu\n",
        "twins.csv": b"zip,zip\n1,2\n3,4\n",
        "ragged.csv": b"zip,age,disease\n01000,22,flu\n02000,22\n",
        "latin.csv": "zip,name\n1,Zo\u00e9\n2,Ana\n".encode("latin-1"),
        "overlap.json": b'[["flu", "aids"], ["aids", "cancer"]]',
        "misses.json": b'[["flu"]]',
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = sorted(folder.iterdir())
    monkeypatch.chdir(folder)
    said = complaint(capsys, *arguments)
    assert words in said
    assert not any(value in said for value in ("flu", "cancer", "aids", "01000", "Zo"))
    assert sorted(folder.iterdir()) == before


def test_a_missing_folder_is_found_out_before_the_work(people: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = complaint(capsys, "scan", "adult", "--key", "age", "--out", str(people.parent / "nowhere" / "scan.json"))
    assert "does not exist" in said


def test_an_interrupt_exits_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    random = np.random.default_rng(0)  # half a million subsets: minutes of work on any machine
    table = pl.DataFrame({f"c{at}": random.integers(0, 3 + at, 100_000) for at in range(19)})
    data, target = tmp_path / "data.parquet", tmp_path / "scan.json"
    table.write_parquet(data)
    process = started([UNVEIL, "scan", str(data), "--out", str(target)], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == b"unveil: interrupted; nothing was written.\n"
    assert list(tmp_path.iterdir()) == [data]


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{shlex.quote(UNVEIL)} datasets adult --json | head -c 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def named_commands(program: typer.Typer) -> list[str]:
    commands = program.registered_commands
    return [command.name or command.callback.__name__ for command in commands if command.callback is not None]


def verbs() -> list[str]:
    from unveil.cli.verbs import app

    below = {str(group.name): named_commands(group.typer_instance) for group in app.registered_groups if group.typer_instance}
    return [*named_commands(app), *(f"{group} {verb}" for group, names in below.items() for verb in names)]


def test_commands_below_a_verb_are_among_those_whose_examples_run() -> None:
    assert {"hierarchy build", "hierarchy check", "hierarchy show", "hierarchy partitions"} <= set(verbs())


@pytest.mark.parametrize("verb", [verb for verb in verbs() if verb != "app"])  # that one serves until it is stopped
def test_help_ends_in_an_example_that_runs(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*verb.split(), "--help"]) == 0
    lines = capsys.readouterr().out.partition("\nExample:\n")[2].splitlines()
    assert lines
    for line in lines:
        assert run(shlex.split(line.removeprefix("  unveil "))) == 0
    assert capsys.readouterr().out or any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        ("loss", "paper-4", "paper-3", "--map", "ZIP=ZIP*", "--same-order"),
        ("check", "adult", "--policy", "cell-size-5", "--key", "sex"),
        ("anonymize", "adult", "--key", "sex", "--k", "2"),
        ("attack", "paper-4", "paper-3"),
        ("compare", "paper-4", "r=paper-3", "--key", "ZIP"),
        ("front", "adult", "--key", "sex", "--need", "pay: income-per-year given sex"),
    ],
)
def test_a_seed_below_zero_is_refused(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert "--seed is -1; it must be at least 0." in complaint(capsys, *arguments, "--seed", "-1")


def test_an_interrupt_while_the_program_is_still_loading_ends_it_cleanly() -> None:
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from unveil.cli import main\n"
        "main(['datasets'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr == b"unveil: interrupted; nothing was written.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "dr people.csv --key zip", "scan people.csv --key zip", "scan people.csv --key zip --checkpoint people.csv --out x.json",
        "identifiers people.csv", "measure people.csv --key zip", "measure adult --key sex --population people.csv",
        "assess people.csv --key zip", "check people.csv --policy cell-size-3 --key zip",
        "check adult --policy cell-size-3 --key sex --junit people.csv --out people.csv",
        "attack people.csv people.csv --same-order", "loss people.csv people.csv --same-order",
        "compare people.csv r=people.csv --key zip", "utility people.csv --need", "hierarchy build people.csv --column zip",
        "init people.csv --force", "anonymize people.csv --key zip --k 2", "front people.csv --key zip --sensitive disease",
        "anonymize adult --key sex --k 2 --hierarchy sex=people.csv", "dr --project unveil.toml",
    ],
)  # fmt: skip
def test_an_answer_is_not_written_over_what_is_read(
    arguments: str, people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(people.parent)
    Path("unveil.toml").write_text('[data]\npath = "people.csv"\n[attributes.zip]\nrole = "key"\n', encoding="utf-8")
    before = people.read_bytes()
    words = [*arguments.split(), *(["n: disease given zip"] if arguments.endswith("--need") else [])]
    said = complaint(capsys, *words, *([] if "--out" in words else ["--out", "./people.csv"]))
    assert "name another file" in said or "name two different ones" in said
    assert people.read_bytes() == before


def test_attack_loss_and_compare_read_the_project(
    people: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(people.parent)
    rows = ["01000;22;flu", "01000;35;cancer", "02000;22;flu", "02000;?;aids", "03000;41;flu"]
    Path("original.csv").write_text("\n".join(["zip;age;disease", *rows]) + "\n", encoding="utf-8")
    Path("release.csv").write_text("\n".join(["zip,age,disease", *rows]).replace(";", ",") + "\n", encoding="utf-8")
    Path("zip.csv").write_text("".join(f"0{n}000;0{n}***;*\n" for n in (1, 2, 3)), encoding="utf-8")
    Path("plan.toml").write_text(
        '[data]\nseparator = ";"\nmissing = ["?"]\nnulls = "drop"\n[attributes.zip]\nrole = "key"\nhierarchy = "zip.csv"\n'
        '[attributes.age]\nrole = "key"\n[attributes.gone]\nrole = "key"\n[attributes.disease]\nrole = "sensitive"\n'
        'order = ["flu", "aids", "cancer"]\n[attributes.disease.partitions]\nserious = [["flu"], ["cancer", "aids"]]\n',
        encoding="utf-8",
    )
    one, two = unveil.source("original.csv", separator=";", missing="?"), unveil.source("release.csv", missing="?")
    tree = unveil.Hierarchy.read("zip.csv", column="zip")
    common = ("original.csv", "release.csv", "--project", "plan.toml", "--same-order", "--json")
    serious = {"serious": {"disease": [["flu"], ["cancer", "aids"]]}}
    assert printed(capsys, "attack", *common) == unveil.attack(
        one, two, ["zip", "age"], "disease", same_order=True, nulls="drop", partitions=serious, hierarchies={"zip": tree}
    ).displayed().to_dict()  # fmt: skip
    order = {"disease": ["flu", "aids", "cancer"]}
    study = unveil.Study(one, ["zip", "age"], orders=order, hierarchies={"zip": tree}, nulls="drop")
    lost = unveil.loss(study, two, same_order=True)
    assert printed(capsys, "loss", *common) == lost.to_dict()
    assert (lost.made.records, lost.made.dropped, lost.categorical.attributes["zip"]["precision"]) == (4, 1, 0.0)
    Path("plan.toml").write_text(Path("plan.toml").read_text(encoding="utf-8").replace('[attributes.gone]\nrole = "key"\n', ""))
    compared = printed(capsys, "compare", "original.csv", "r=release.csv", *common[2:])
    assert "null policy of the original is 'drop'" in compared.pop("notes")[0]
    assert compared == unveil.compare({"original": one, "r": two}, ["zip", "age"], "disease", same_order=True).to_dict()


@pytest.mark.parametrize(
    "arguments",
    [
        ("attack", "-", "-", "--same-order"),
        ("compare", "-", "r=-", "--key", "zip"),
        ("check", "-", "--original", "-", "--policy", "cell-size-3", "--key", "zip"),
    ],
)
def test_standard_input_is_read_once(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert "standard input (-) is named twice" in complaint(capsys, *arguments)


def test_a_dash_is_a_separator_and_a_missing_text_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dashes.csv").write_text("a-b\n1-x\n2-y\n", encoding="utf-8")
    found = printed(capsys, "dr", str(tmp_path / "dashes.csv"), "--key", "a", "--separator", "-", "--missing", "-", "--json")
    assert found["records"] == 2


def test_help_does_not_import_what_is_heavy() -> None:
    heavy = ("polars", "numpy", "numba", "pandas", "scipy")
    code = f"import sys; from unveil.cli import run; run(['--help']); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stdout.decode().rstrip().endswith("[]")


def test_a_rate_loads_nothing_of_pairs_estimates_and_workbooks() -> None:
    heavy = [
        "numba",
        "scipy",
        "unveil.study.pair",
        "unveil.measures.approximate",
        "unveil.sources.clinic",
        "xml.sax",
        "http.client",
    ]
    words = ["dr", "paper-2", "--key", "Age*", "--sensitive", "Disease", "--json"]
    code = (
        f"import sys; from unveil.cli import run; run({words}); print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_without_a_verb_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "Usage" in capsys.readouterr().out


def test_version() -> None:
    assert call("--version").stdout.decode() == f"unveil {unveil.__version__}\n"


@pytest.mark.parametrize("verb", ["dr", "measure", "scan", "assess", "check"])
def test_a_project_named_as_data_brings_its_roles(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people.csv").write_text("age,sex,ill\n1,m,a\n2,f,b\n1,m,c\n2,f,a\n", "utf-8")
    (tmp_path / "unveil.toml").write_text(
        '[data]\npath = "people.csv"\n\n[attributes.age]\nrole = "key"\n\n[attributes.ill]\nrole = "sensitive"\n', "utf-8"
    )
    policy = ["--policy", "cell-size-5"] if verb == "check" else []
    answers = []
    for words in ([str(tmp_path / "unveil.toml")], ["--project", str(tmp_path / "unveil.toml")]):
        run([verb, *words, *policy, "--json"])
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert '"age"' in json.dumps(answers[0])
    assert '"sex"' not in json.dumps(answers[0].get("made", {}))


@pytest.mark.parametrize(
    "words",
    [
        ("dr", "codes.csv", "--key", "zip"),
        ("scan", "codes.csv", "--key", "zip"),
        ("measure", "codes.csv", "--key", "zip"),
        ("check", "codes.csv", "--key", "zip", "--policy", "cell-size-3"),
        ("compare", "codes.csv", "same=codes.csv", "--key", "zip", "--same-order"),
        ("attack", "codes.csv", "codes.csv", "--key", "zip", "--sensitive", "ill", "--same-order", "--no-linkage"),
        ("table", "codes.csv", "--by", "zip"),
    ],
    ids=lambda words: words[0],
)
def test_every_verb_reads_a_column_of_codes(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("codes.csv").write_text("zip,ill\n01000,flu\n1000,cold\n2000,flu\n02000,cold\n", encoding="utf-8")
    assert run([*words, "--json"]) in {0, 1}
    apart = capsys.readouterr().out
    assert run([*words, "--json", "--text", "zip"]) in {0, 1}
    assert capsys.readouterr().out != apart
    assert run([*words, "--text", "zpi"]) == 2
    assert "did you mean 'zip'" in capsys.readouterr().err


def test_the_package_is_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unveil", "dr", "paper-4", "--key", "Age", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["value"] == pytest.approx(unveil.discrimination_rate("paper-4", "Age").value)
    assert "unveil: column 'Agee' not found" in subprocess.run(
        [sys.executable, "-m", "unveil", "dr", "paper-4", "--key", "Agee"], capture_output=True, text=True, check=False
    ).stderr  # fmt: skip
