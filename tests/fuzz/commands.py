"""Command lines: every verb, over generated files, with right options and wrong ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any

import typer

from fuzz.cases import Outcome, begun, guarded, place_of, said_of, trace_of
from fuzz.tables import Table, draw_table
from fuzz.values import MARKER
from unveil.cli import run
from unveil.cli.verbs import app

__all__ = ["VALUES", "VERBS", "run_command_case"]

_EXPECTED = {0, 1, 2}


def _verbs(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _verbs(command, (*before, name))
        else:
            yield (*before, name), command


VERBS: dict[tuple[str, ...], Any] = dict(_verbs(typer.main.get_command(app)))
"""The verbs with their commands."""
del VERBS["app",]  # it serves until it is stopped
del VERBS["watch",]  # it waits for more records, for ever if need be
del VERBS["warm-up",]  # it compiles for seconds, and has nothing to be drawn

Draw = Callable[[Random, Table], str]


def _column(rng: Random, table: Table) -> str:
    return rng.choice(table.names or ["nothing"])


def _file(rng: Random, table: Table) -> str:
    return str(table.data) if rng.random() < 0.8 else "no-such-file.csv"


def _one_of(*texts: str) -> Draw:
    return lambda rng, _: rng.choice(texts)


def _of_column(*texts: str) -> Draw:
    return lambda rng, table: f"{_column(rng, table)}={rng.choice(texts)}"


def _with_column(*texts: str) -> Draw:
    return lambda rng, table: rng.choice(texts) + rng.choice(["", f":{_column(rng, table)}"])


VALUES: dict[str, Draw] = {
    **dict.fromkeys(
        (
            "--key",
            "--text",
            "--similar",
            "--sensitive",
            "--weights",
            "--household",
            "--id",
            "--attribute",
            "--identifier",
            "--pseudonymize",
            "--column",
            "--released",
            "--continuous",
            "--categorical",
            "--person",
            "--keep",
            "--time",
            "--by",
            "--holding",
            "--request",
        ),
        _column,
    ),
    **dict.fromkeys(
        (
            "data",
            "original",
            "release",
            "--population",
            "--reference",
            "--external",
            "--control",
            "--original",
            "--data",
            "--earlier",
            "--release",
            "--audit",
        ),
        _file,
    ),
    "releases": lambda rng, table: f"other={_file(rng, table)}",
    "--link": _one_of("link.csv", "other=link.csv"),
    "file": _one_of("tree.csv", "no-such-tree.csv"),
    "name": _one_of("paper-2", "adult", "thesis-6.3"),
    "--partition": _of_column("[['a'],['b']]", "parts.toml", "0,10"),
    "--hierarchy": _of_column("tree.csv"),
    "--hierarchy-dir": _one_of("."),
    "--arx-rule": _one_of("tree.csv", "no-such-rule.ahs"),
    "--order": _of_column("1,2,3,4,5", "north,south,east,west"),
    "--level": _of_column("0:1", "1:2"),
    "--weight": _of_column("1", "0.5"),
    "--map": lambda rng, table: f"{_column(rng, table)}={_column(rng, table)}",
    "--set": _one_of("k=3", "share=0.2", "top=50", "method=mdav", "nulls=keep", "epsilon=1.0", "retention=0.8", "seed=1"),
    "--mechanism": _one_of(
        "microaggregate",
        "swap",
        "sample",
        "pram",
        "add_noise",
        "round_values",
        "top_bottom_code",
        "mondrian",
        "suppress_locally",
        "anatomize",
    ),
    **dict.fromkeys(("--k", "--k-map", "--max-size", "--small", "--clusters", "--ways"), _one_of("1", "2", "3")),
    **dict.fromkeys(("--bootstrap", "--seed", "--node-limit", "--max-distinct", "--threads"), _one_of("1", "7", "2")),
    **dict.fromkeys(
        (
            "--confidence",
            "--average-risk",
            "--sampling-fraction",
            "--threshold",
            "--wildcard-weight",
            "--suppression",
            "--factor",
            "--allow",
            "--tolerance",
            "--max-identity",
            "--max-homogeneity",
            "--time-limit",
        ),
        _one_of("0.5", "0.9", "1", "0.1"),
    ),
    "--delay": _one_of("4", "20", "10s", "soon"),
    "--derive": lambda rng, table: rng.choice(["at=cell({0},{0})", "at=hours({0},6)", "at=period({0})"]).format(_column(rng, table)),
    "--points": _one_of("1", "2", "3"),
    "--setting": _one_of("linger.ms=5", "no.such.setting=1", "group.id"),
    "--settings-file": _one_of("client.properties", "data.csv"),
    "--draws": _one_of("1", "5"),
    "--method": _one_of("clusters", "windows", "clouds"),
    "--p": _with_column("1", "2"),
    "--l": _with_column("distinct:2", "entropy:1.5", "recursive:3:2", "grassberger:1.5"),
    "--uniqueness": _one_of("sample:0.1", "population:0.05:0.2"),
    "--no-attack": _one_of("3:2", "1:1", "3:2:journalist"),
    "--profitable": _one_of("10:3:3:2", "1:1:1:1", "10:3:3:2:journalist"),
    "--t": _with_column("0.3", "0.2:equal", "0.5:js"),
    "--alpha": _with_column("0.5"),
    "--beta": _with_column("1.0", "enhanced:1"),
    "--delta": _with_column("1.5"),
    "--presence": _one_of("0:0.5"),
    "--loglinear": _one_of("1", "2", "search", "pml:1", "ce:1"),
    "--suppressed": _one_of("apart", "class"),
    "--nulls": _one_of("category", "drop", "error", "wildcard", "keep"),
    "--objective": _one_of("loss", "entropy", "kl", "precision"),
    "--prefer": _one_of("utility", "privacy"),
    "--privacy": _one_of("k", "prosecutor", "t", "attack"),
    "--loss": _one_of("entropy_loss", "suppressed"),
    "--need": lambda rng, table: f"study: {_column(rng, table)} given {_column(rng, table)}",
    "--task": _column,
    "--policy": _one_of("cell-size-5", "unveil.toml"),
    "--baseline": _one_of("base.json"),
    "--waivers": _one_of("base.json", "nowhere.toml"),
    "--project": _one_of("unveil.toml"),
    "--separator": _one_of(",", ";", "\t"),
    "--encoding": _one_of("utf-8", "latin-1", "utf-16"),
    "--missing": _one_of("?", "NA"),
    "--checkpoint": _one_of("scan.checkpoint"),
    "--key-file": _one_of("secret.key"),
    "--junit": _one_of("junit.xml"),
    "--history": _one_of("runs.jsonl", "data.csv"),
    "--sheet": _one_of("sheet.html", "sheet.pdf"),
    "--sign-key": _one_of("secret.key"),
    "--passphrase-file": _one_of("secret.key"),
    "--verify": _one_of("data.csv", "no-such-verdict.json"),
    "--public-key": _one_of("secret.key"),
    "--record": _one_of("out.csv.unveil.json", "no-such-record.json"),
    "--out": _one_of("out.csv", "out.parquet", "out.ndjson", "out.html", "out.json", "out.toml", "no/such/folder/out.csv"),
    "--interval": _one_of("5,10", "10"),
    "--origin": _one_of("0", "5"),
    "--bottom": _one_of("20"),
    "--top": _one_of("70"),
    "--groups": _one_of("2,4"),
    "--redact": _one_of("left", "right"),
    "--characters": _one_of("1,2"),
    "--mask": _one_of("*"),
    "--pad": _one_of("0"),
    "--pad-side": _one_of("left"),
    "--dates": _one_of("month,year"),
    "--rare": _one_of("2,5"),
    "--other": _one_of("rest"),
    "--value": lambda rng, table: rng.choice(table.numbers or table.names or ["nothing"]),
    "--rule": _one_of("threshold=3", "p=10", "pq=10:50", "dominance=1:80", "group", "request"),
    "--linked": lambda rng, table: f"{_column(rng, table)},{_column(rng, table)}",
    "--total": _one_of("Total", "all"),
    "--protect": _one_of("suppress", "round", "adjust", "cell-key", "small-counts"),
    "--cost": _one_of("cells", "count", "value"),
    "--on": _one_of("count", "value"),
    "--attacker": _one_of("0:inf", "50%:150%"),
    "--zeros": _one_of("publish", "suppress", "structural"),
    "--insiders": _one_of("singletons", "none"),
    "--width": _one_of("1", "5"),
    "--apriori": _one_of("cells.hst", "tree.csv"),
    "--base": _one_of("3", "5"),
    "--intervals": _one_of("exact", "enough", "auto"),
    "--form": _one_of("long", "crosstab"),
    "--solver": _one_of("auto", "highs"),
    "question": lambda rng, table: rng.choice([
        "SELECT COUNT(*) FROM data",
        f'SELECT SUM("{_column(rng, table)}") FROM data',  # noqa: S608 - a question to a gate
        f'SELECT AVG("{_column(rng, table)}") FROM data WHERE "{_column(rng, table)}" > 3',  # noqa: S608 - a question to a gate
        f'SELECT COUNT(*) FROM data GROUP BY "{_column(rng, table)}"',  # noqa: S608 - a question to a gate
        "DROP TABLE data",
    ]),
    "--ledger": _one_of("gate.db", "tree.csv"),
    "--shared-ledger": _one_of("people.db", "tree.csv"),
    "--budget": _one_of("1", "1:1e-6", "much"),
    "--neighbours": _one_of("change one", "add or remove"),
    "--km": lambda rng, table: f"2:2:{_column(rng, table)}",
    "--as": _one_of("analyst", "ann"),
    "--epsilon": _one_of("0.1", "1"),
    "--postal": _one_of("1", "3", "5"),
    "--bounds": _of_column("0:100", "5"),
    "--contribution": _one_of("1", "2"),
    "--dialect": _one_of("postgres", "duckdb", "sqlite"),
    "--head": _one_of("00ff"),
    "--host": _one_of("127.0.0.1"),
    "--port": _one_of("0"),
    "--tokens": _one_of("tokens.json"),
    "--rate": _one_of("60"),
    "--figures": _one_of("n", "value"),
}  # fmt: skip
"""How a right value of an option or an argument is drawn."""

_OF_VERB: dict[tuple[str, str], Draw] = {
    ("attack", "--method"): _one_of("rank_swap", "add_noise", "pram", "generalize"),
    ("table", "--method"): _one_of("lp", "optimal", "gauss", "controlled", "conventional", "random"),
    ("table", "--level"): _one_of("rule", "none", "2"),
    ("query", "--policy"): _one_of("restriction", "differential", "sticky", "records", "camouflage", "open"),
}
"""The same where an option means another thing to one verb."""

_LEFT_OUT = {"--help", "--experiments", "--follow", "--serve"}
"""What lasts: `--serve` waits for questions, for ever if need be."""

_WRONG = [
    "",
    " ",
    "nan",
    "-1",
    "0",
    "1e400",
    "inf",
    "x",
    "a=b",
    "a=",
    "=",
    ":",
    "::",
    "1:2:3:4",
    "é" * 500,
    "99999999999999999999",
    "1.5",
    "true",
    "[",
    "{",
    "[[",
    "*",
    "^.*$",
    "\x1b[31m",
    "a\nb",
    ".",
    "\ud800",
    "🙂",
    "-",
    "--",
    "k=",
    "=3",
]


def run_command_case(number: int, folder: Path) -> Outcome:
    """Draw a command line and run it."""
    rng = Random(f"unveil command {number}")
    begun(folder)
    table = draw_table(rng, folder, tidy=rng.random() < 0.6, library=rng.choice(["csv", "csv", "parquet", "tsv", "ndjson"]))
    verb = rng.choice([name for name in VERBS if name != ("reproduce",)])
    words = [*verb, *_words(rng, table, VERBS[verb])]
    label, shown = f"unveil {' '.join(verb)}", f"unveil {' '.join(map(repr, words))} over {table}"
    out, err = io.StringIO(), io.StringIO()
    try:
        with guarded(), redirect_stdout(out), redirect_stderr(err):
            code = run(words)
        problem = _problem(code, out.getvalue(), err.getvalue(), as_json="--json" in words)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of an engine is none of Exception
        return Outcome(number, label, "failed", said_of(error), place_of(error), f"{shown}\n{trace_of(error)}")
    if problem:
        return Outcome(number, label, "failed", problem, label, f"{shown}\n{err.getvalue()[:2000]}")
    return Outcome(number, label, "refused" if code == 2 else "answered", shown=f"{shown}\n{err.getvalue()[:2000]}")


def _words(rng: Random, table: Table, command: Any) -> list[str]:
    words: list[str] = []
    wrong = rng.random() < 0.5
    for parameter in command.params:
        name, flag = parameter.opts[0], getattr(parameter, "is_flag", False)
        required = (
            parameter.param_type_name == "argument" or name in {"--key", "--column"} or (command.name, name) == ("table", "--by")
        )
        draw = _OF_VERB.get((command.name, name)) or VALUES.get(name)
        if rng.random() > (0.95 if required else 0.12) or name in _LEFT_OUT:
            continue
        value = rng.choice(_WRONG) if wrong and rng.random() < 0.3 else draw(rng, table) if draw else ""
        if parameter.param_type_name == "argument":
            words.append(value)
        elif flag:
            words.append(name)
        else:
            words += [name, value]
            if rng.random() < 0.15:
                words += [name, draw(rng, table) if draw else ""]
    return words


def _problem(code: int, out: str, err: str, *, as_json: bool) -> str:
    """Say what is wrong with how a command ended; nothing where it ended well."""
    if code not in _EXPECTED:
        return f"exit code {code}"
    if "Traceback" in err:
        return "a traceback"
    if MARKER in err:
        return "a message shows a value"
    said = [line for line in err.splitlines() if not line.startswith("written: ")]  # some needs fail, the others are written
    apart = len(said) > 1 and all(
        line.startswith(("unveil: attribute ", "unveil: task ")) for line in said
    )  # they fail one by one
    if code == 2 and len(said) != 1 and not apart:
        return "an error of more or less than one line"
    if as_json and code != 2 and out.strip():
        json.loads(out, parse_constant=_no_constant)
    return ""


def _no_constant(name: str) -> None:
    raise AssertionError(f"JSON holds {name}")
