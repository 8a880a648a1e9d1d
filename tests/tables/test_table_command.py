"""The verb for tables as its users meet it: every way, and a clear line for what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import MissingExtraError

ROWS = [
    ("N", "f", 4),
    ("N", "s", 1),
    ("N", "t", 3),
    ("S", "f", 3),
    ("S", "s", 2),
    ("S", "t", 5),
    ("E", "f", 6),
    ("E", "s", 4),
    ("E", "t", 3),
]
FIRMS = pl.DataFrame(
    [(a, b, 10 * (at + 1), f"{a}{b}{at}", f"{a}{b}") for a, b, n in ROWS for at in range(n)],
    schema=["region", "sector", "worth", "id", "group"],
    orient="row",
)


@pytest.fixture
def firms(tmp_path: Path) -> str:
    path = tmp_path / "firms.csv"
    FIRMS.write_csv(path)
    return str(path)


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    assert run(["table", *words, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


BY = ("--by", "region", "--by", "sector")


@pytest.mark.parametrize(
    "words",
    [
        ("--protect", "round", "--base", "3"),
        ("--protect", "round", "--method", "conventional"),
        ("--protect", "round", "--method", "random"),
        ("--protect", "adjust", "--rule", "threshold=3"),
        ("--protect", "small-counts", "--base", "3"),
    ],
)
def test_every_way_of_perturbation(firms: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    found = answer(capsys, firms, *BY, *words)
    assert len(found["cells"]) == 16
    assert found["cells"][0].keys() == {"by", "n"}


def test_cell_keys(firms: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "key").write_bytes(b"sixteen bytes or more")
    words = (firms, *BY, "--protect", "cell-key", "--id", "id", "--key-file", str(tmp_path / "key"))
    assert answer(capsys, *words) == answer(capsys, *words)
    assert run(["table", firms, *BY, "--protect", "cell-key"]) == 2


def test_records_are_protected_first(firms: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, firms, *BY, "--mechanism", "swap", "--attribute", "region", "--seed", "1")
    assert found["cells"][0]["n"] == FIRMS.height


def test_the_attack_on_a_protected_table(firms: str, capsys: pytest.CaptureFixture[str]) -> None:
    bare = answer(capsys, firms, *BY, "--value", "worth", "--attack")
    assert bare["attacks"]["external"] == bare["attacks"]["internal"] == 1
    safe = answer(
        capsys, firms, *BY, "--value", "worth", "--rule", "p=10", "--rule", "threshold=3", "--protect", "suppress", "--attack"
    )
    assert "external" not in safe["attacks"]
    assert "internal" not in safe["attacks"]


def test_the_cost_of_a_column(firms: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = (firms, *BY, "--rule", "threshold=3", "--protect", "suppress", "--method", "optimal", "--insiders", "none")
    by_worth = answer(capsys, *words, "--cost", "worth")
    hidden = [one["by"] for one in by_worth["cells"] if one["status"] in ("primary", "secondary")]
    table = unveil.table(FIRMS, ["region", "sector"], value="worth")
    assert table.value is not None
    worth = {tuple(one.values()): value for one, value in zip(table.codes_of(table.cells), table.value, strict=True)}
    assert by_worth["cost"] == sum(worth[tuple(one.values())] for one in hidden) == by_worth["bound"]


def test_intervals_in_the_place_of_blanks(firms: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    words = ["table", firms, *BY, "--rule", "threshold=3", "--protect", "suppress", "--publish-intervals", "--out", str(out)]
    assert run(words) == 0
    frame = pl.read_csv(out)
    hidden = frame.filter("suppressed")
    assert hidden["n"].null_count() == hidden.height > 0
    assert (hidden["high"] - hidden["low"] >= 1).all()
    assert "status" not in frame.columns


def test_a_time_limit_gives_the_best_found_with_its_bound() -> None:
    table = unveil.table("adult", ["education", "occupation"])
    best = table.suppress("threshold=5", method="optimal", time_limit=1.0, insiders="none")
    assert best.safe
    assert best.bound is not None
    assert best.bound <= best.cost
    assert best.gap is not None
    assert 0 <= best.gap < 1


def test_a_solver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    table = unveil.table(FIRMS, ["region", "sector"])
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    with pytest.raises(MissingExtraError, match=r"unveil\[optimal\]"):
        table.suppress(
            "dominance=1:50" if table.value is not None else "threshold=4", method="optimal", solver="scip", insiders="none"
        )
    assert table.suppress("threshold=3", method="optimal", insiders="none").safe
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"unveil\[tables\]"):
        table.suppress("threshold=3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rule", "threshold=3", "--protect", "hide"), "--protect"),
        (("--protect", "suppress"), "give a --rule"),
        (("--method", "lp"), "--protect"),
        (("--rule", "threshold=3", "--protect", "suppress", "--method", "best"), "method 'best' is unknown"),
        (("--rule", "threshold=3", "--protect", "suppress", "--attacker", "5"), "LO:HI"),
        (("--rule", "threshold=3", "--protect", "suppress", "--attacker", "3:4"), "outside"),
        (("--rule", "threshold=3", "--protect", "suppress", "--level", "much"), "--level"),
        (("--rule", "p=10", "--protect", "suppress"), "column of values"),
        (("--hierarchy", "region=nowhere.csv"), "not there"),
        (("--rule", "threshold=3", "--protect", "suppress", "--width", "1000000", "--attacker", "0:100"), "cannot be protected"),
        (("--out", "x.doc"), "does not end in a form"),
    ],
)
def test_what_is_wrong_gets_one_clear_line(
    firms: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert run(["table", firms, *BY, *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert not printed.out


def test_the_gate_for_tables(firms: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('exposed_cells = { at_most = 0, by = ["region", "sector"], rule = ["threshold=3"] }\n')
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    assert run(["table", firms, *BY, "--rule", "threshold=3", "--protect", "suppress", "--out", str(good)]) == 0
    unveil.table(firms, ["region", "sector"]).to_frame().write_csv(bad)
    assert run(["check", str(good), "--policy", str(policy), "--original", firms]) == 0
    assert run(["check", str(bad), "--policy", str(policy), "--original", firms]) == 1
    assert run(["check", str(good), "--policy", str(policy)]) == 1


def test_the_gate_knows_how_a_table_was_made(firms: str, tmp_path: Path) -> None:
    """Where each cell is one contributor's, and where intervals must be wider, more of it is sensitive."""
    policy, good = tmp_path / "policy.toml", tmp_path / "good.csv"
    assert (
        run(["table", firms, *BY, "--value", "worth", "--rule", "threshold=3", "--protect", "suppress", "--out", str(good)]) == 0
    )
    asked = 'exposed_cells = { at_most = 0, by = ["region", "sector"], value = "worth", rule = ["threshold=3"]%s }\n'
    check = ["check", str(good), "--policy", str(policy), "--original", firms]
    for more, code in (("", 0), (', on = "count"', 0), (', holding = "group"', 1), (", width = 1e6", 1), (", level = 1e6", 1)):
        policy.write_text(asked % more)
        assert run(check) == code, more
    policy.write_text(asked % ', zeros = "all"')
    assert run(check) == 2


ARGUS = (
    '<SEPARATOR> ","\nregion\n<RECODEABLE>\n<TOTCODE> "T"\nsector\n<RECODEABLE>\n<TOTCODE> "T"\nworth\n<NUMERIC>\n<RESPONSE>\n'
    "freq\n<NUMERIC>\n<FREQUENCY>\nfirst\n<MAXSCORE>\nsecond\n<MAXSCORE>\nstatus\n<STATUS>\n"
)


@pytest.fixture
def argus(tmp_path: Path) -> Path:
    """A table as tau-Argus writes it, with one cell of a single contributor beside a sensitive one."""
    made = unveil.table(FIRMS, ["region", "sector"], value="worth", total="T", top=2)
    assert made.value is not None
    assert made.top is not None
    lines = [
        f"{by['region']},{by['sector']},{made.value[cell]:g},{made.n[cell]},{made.top[cell][0]:g},{made.top[cell][1]:g},"
        f"{'U' if 0 < made.n[cell] < 3 else 'S'}"
        for cell, by in zip(made.cells.tolist(), made.codes_of(made.cells), strict=True)
    ]
    (tmp_path / "t.tab").write_text("\n".join(lines) + "\n")
    (tmp_path / "t.rda").write_text(ARGUS)
    return tmp_path / "t.tab"


def statuses(found: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(one["by"]["region"], one["by"]["sector"]): one["status"] for one in found["cells"]}


def test_a_table_of_tau_argus_is_protected_as_its_records_are(argus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who is alone in a cell is known from its frequency, so insiders are the same."""
    found = answer(capsys, str(argus), "--rule", "threshold=3", "--protect", "suppress", "--method", "optimal")
    made = unveil.table(FIRMS, ["region", "sector"], value="worth", total="T", top=2)
    same = made.suppress("threshold=3", method="optimal", on="value")
    assert found["cost"] == same.cost == found["bound"]
    none = answer(capsys, str(argus), "--protect", "suppress", "--method", "optimal", "--insiders", "none")
    assert none["cost"] < found["cost"]


def test_decisions_and_perturbations_hold_for_a_table_of_tau_argus(
    argus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more.hst").write_text("E;f;u\nN;s;s\n")
    found = statuses(answer(capsys, str(argus), "--protect", "suppress", "--apriori", str(tmp_path / "more.hst")))
    assert found["E", "f"] == found["S", "s"] == "primary"
    assert found["N", "s"] != "primary"
    rounded = answer(capsys, str(argus), "--protect", "round", "--base", "7")
    assert {one["value"] % 7 for one in rounded["cells"]} == {0}
    attacked = answer(capsys, str(argus), "--attack", "--apriori", str(tmp_path / "more.hst"))
    assert attacked["attacks"]["external"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--by", "region"), "--by says how records are tabulated"),
        (("--holding", "region"), "--holding says how records are tabulated"),
        (("--mechanism", "pram"), "--mechanism is about records"),
        (("--protect", "cell-key"), "cell keys are made of records"),
        (("--protect", "suppress", "--cost", "worth"), "--cost of a column is about records"),
        (("--protect", "round", "--apriori", "x.hst"), "--apriori goes with --protect suppress"),
        (("--method", "lp"), "--method says how to protect"),
    ],
)
def test_what_a_table_of_tau_argus_cannot_do_is_refused(
    argus: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert run(["table", str(argus), *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_table_of_tau_argus_that_does_not_add_up_is_refused(argus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argus.write_text(argus.read_text().replace("N,T,170,", "N,T,175,"))
    assert run(["table", str(argus), "--protect", "suppress"]) == 2
    assert "(N, T) differs from the sum of the other figures by +5." in " ".join(capsys.readouterr().err.split())


def test_empty_cells_that_are_shown_tell_that_blanks_are_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two blanks that come to 2, and are known not to be empty, are 1 each."""
    counts = {("a", "x"): 1, ("a", "y"): 1, ("b", "x"): 1, ("b", "y"): 1, ("c", "x"): 9, ("c", "y"): 8, ("c", "z"): 7}
    rows = [one for one, n in counts.items() for _ in range(n)]
    pl.DataFrame(rows, schema=["row", "column"], orient="row").write_csv(tmp_path / "people.csv")
    words = [str(tmp_path / "people.csv"), "--by", "row", "--by", "column", "--rule", "threshold=3", "--protect", "suppress"]
    lax = answer(capsys, *words, "--insiders", "none", "--method", "optimal")
    strict = answer(capsys, *words, "--insiders", "none", "--method", "optimal", "--attacker", "1:inf")
    assert lax["cost"] < strict["cost"]
    table = unveil.table(str(tmp_path / "people.csv"), ["row", "column"])
    options: dict[str, Any] = {"insiders": "none", "method": "optimal"}
    assert len(table.suppress("threshold=3", **options).told_by_not_being_empty()) == 6  # four cells, and two totals of them
    assert len(table.suppress("threshold=3", attacker="1:inf", **options).told_by_not_being_empty()) == 0
    assert "known not to be empty" in " ".join(table.suppress("threshold=3", **options).view().notes)
    open_ones = [one for one in strict["cells"] if one["status"] == "primary"]
    assert all(one["low"] >= 1 and (one["high"] == "inf" or one["high"] - one["low"] >= 1) for one in open_ones)


def test_intervals_are_published_in_a_crosstab_too(firms: str, tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    words = ["table", firms, *BY, "--rule", "threshold=3", "--protect", "suppress", "--publish-intervals", "--out", str(out)]
    assert run([*words, "--form", "crosstab"]) == 0
    assert "[" in out.read_text()
    assert run([*words, "--intervals", "enough"]) == 2


def test_an_attack_on_changed_figures_is_refused(firms: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", firms, *BY, "--protect", "round", "--attack"]) == 2
    assert "figures" in capsys.readouterr().err


def test_a_figure_nearer_than_the_rule_allows_counts_as_exposed() -> None:
    table = unveil.table(FIRMS, ["region", "sector"], value="worth")
    rounded = unveil.tables.round_table(table, base=3, method="conventional")
    moved = unveil.tables.adjust(table, "p=20")
    found = unveil.tables.compare_tables(table, {"rounded": rounded, "moved": moved}, rules="p=20").figures
    assert found["rounded"].exposed == found["rounded"].sensitive
    assert found["moved"].exposed == 0


def test_a_comparison_of_tables_knows_holdings_and_totals(firms: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "all.csv"
    assert run(["table", firms, *BY, "--value", "worth", "--total", "T", "--out", str(out)]) == 0
    words = ["compare", firms, f"whole={out}", *BY, "--value", "worth", "--rule", "threshold=3", "--total", "T", "--json"]
    found = []
    for more in ([], ["--holding", "group"]):
        capsys.readouterr()
        assert run([*words, *more]) == 0
        found.append(json.loads(capsys.readouterr().out)["tables"]["whole"]["exposed"])
    assert found == [2, 9]
