"""The audit of published tables as those meet it who bring a table of another tool, or records with holdings and decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import ArgumentError, TableError
from unveil.tables import Apriori

PARTS = [("N", "f", 4), ("N", "s", 1), ("N", "t", 3), ("S", "f", 3), ("S", "s", 2), ("S", "t", 5), ("E", "f", 6), ("E", "s", 4)]
FIRMS = pl.DataFrame(
    [(a, b, 10 * (at + 1), f"owner {a}" if b == "t" else f"{a}{b}{at}") for a, b, n in PARTS for at in range(n)],
    schema=["region", "sector", "worth", "owner"],
    orient="row",
)
TREE = [("f", "goods", "Total"), ("s", "goods", "Total"), ("t", "services", "Total")]
BY = ["region", "sector"]


@pytest.fixture
def firms(tmp_path: Path) -> str:
    FIRMS.write_csv(tmp_path / "firms.csv")
    return str(tmp_path / "firms.csv")


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> dict[str, Any]:
    assert run(["table", *words, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["table", *words]) == 2
    return " ".join(capsys.readouterr().err.split())


def test_an_audit_knows_holdings(firms: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five records of one owner are one contributor, who reads the cell beside."""
    published = tmp_path / "published.csv"
    unveil.table(FIRMS, BY, value="worth").suppress("threshold=3").to_frame().write_csv(published)
    words = ["--audit", str(published), "--original", firms, "--value", "worth", "--rule", "threshold=3"]
    assert told(capsys, *words, code=0)["exposed"] == 0
    found = told(capsys, *words, "--holding", "owner", code=1)
    assert "The only contributor of (S, t) can compute (S, s)." in {one["because"] for one in found["cells"]}
    assert not unveil.tables.audit(published, by=BY, original=FIRMS, value="worth", holding="owner", rules="threshold=3").safe


def test_an_audit_takes_the_column_that_is_asked_about(firms: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = unveil.table(FIRMS, BY, value="worth").suppress("threshold=3").to_frame()
    frame.write_csv(tmp_path / "both.csv")
    words = ["--original", firms, "--value", "worth", "--rule", "threshold=3"]
    assert told(capsys, "--audit", str(tmp_path / "both.csv"), *words, "--on", "count", code=0)["on"] == "count"
    assert told(capsys, "--audit", str(tmp_path / "both.csv"), *words, code=0)["on"] == "value"
    frame.select(*BY, freq="n").write_csv(tmp_path / "freq.csv")
    words = ["--audit", str(tmp_path / "freq.csv"), "--figures", "freq", "--on", "count"]
    assert told(capsys, *words, "--original", firms, "--rule", "threshold=3", code=0)["on"] == "count"
    with pytest.raises(ArgumentError, match="figures are values"):
        unveil.tables.audit(frame.drop("n"), on="count")


def test_published_codes_that_the_original_lacks_are_not_passed_over() -> None:
    """A subtotal that is left out of the equations would give a cell away unseen."""
    table = unveil.table(FIRMS, BY, hierarchies={"sector": TREE})
    frame = table.to_frame()
    hidden = pl.col("sector").is_in(["s", "t"]) & pl.col("region").is_in(["N", "S"])
    published = frame.with_columns(n=pl.when(hidden).then(None).otherwise("n"))
    found = unveil.tables.audit(published, hierarchies={"sector": TREE}, original=FIRMS, rules="threshold=3")
    assert not found.safe
    with pytest.raises(TableError, match="codes that the original does not have"):
        unveil.tables.audit(published, original=FIRMS, rules="threshold=3")


def test_an_empty_row_of_a_code_without_records_fits_the_original() -> None:
    wider = unveil.table(FIRMS, BY, hierarchies={"sector": [("f", "Total"), ("s", "Total"), ("t", "Total"), ("u", "Total")]})
    assert unveil.tables.audit(wider.to_frame(), original=FIRMS).safe


def test_an_audit_heeds_decisions_on_single_cells(firms: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = unveil.table(FIRMS, BY)
    waived = Apriori(safe=frozenset({("N", "s"), ("S", "s")}))
    table.to_frame().write_csv(tmp_path / "whole.csv")
    (tmp_path / "waived.hst").write_text("N;s;s\nS;s;s\n")
    words = ["--audit", str(tmp_path / "whole.csv"), "--original", firms, "--rule", "threshold=3"]
    assert told(capsys, *words, code=1)["exposed"] == 2
    assert told(capsys, *words, "--apriori", str(tmp_path / "waived.hst"), code=0)["exposed"] == 0
    assert unveil.tables.audit(table.to_frame(), original=table, rules="threshold=3", apriori=waived).safe


@pytest.mark.parametrize("option", ["--holding", "--request", "--linked", "--apriori"])
def test_what_needs_records_is_refused_without_them(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unveil.table(FIRMS, BY).to_frame().write_csv(tmp_path / "whole.csv")
    assert f"{option} needs the records behind the table" in refused(
        capsys, "--audit", str(tmp_path / "whole.csv"), option, "owner"
    )
    with pytest.raises(ArgumentError, match="give the original data"):
        unveil.tables.audit(tmp_path / "whole.csv", holding="owner")


def test_signed_figures_are_bounded_by_nothing_below() -> None:
    table = unveil.table(pl.DataFrame({"a": ["x", "x", "y", "z"], "v": [-5, 2, 7, 1]}), "a", value="v", signed=True)
    published = table.to_frame().with_columns(value=pl.when(pl.col("a").is_in(["x", "y"])).then(None).otherwise("value"))
    found = unveil.tables.audit(published, signed=True)
    assert (found.low.tolist(), found.high.tolist()) == ([-np.inf, -np.inf], [np.inf, np.inf])
    assert unveil.tables.audit(published).high.max() == 4


def test_an_audit_of_linked_tables_says_what_both_give_away(
    firms: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a table in the model hides and no table shows is not taken as known."""
    frame = FIRMS.with_columns(size=pl.when(pl.col("worth") > 20).then(pl.lit("large")).otherwise(pl.lit("small")))
    frame.write_csv(firms)
    tables = [["region", "sector"], ["region", "size"]]
    made = unveil.table(frame, ["region", "sector", "size"], tables=tables)
    protected = made.suppress("threshold=3")
    protected.to_frame().write_csv(tmp_path / "linked.csv")
    words = ["--audit", str(tmp_path / "linked.csv"), "--original", firms, "--rule", "threshold=3"]
    linked = ["--linked", "region,sector", "--linked", "region,size"]
    found = told(capsys, *words, *linked, code=0)
    assert found["suppressed"] == int(protected.suppressed[made.cells].sum())
    blind = unveil.tables.audit(protected)
    assert len(blind.cells) > found["suppressed"]


def test_cells_that_no_table_shows_and_a_total_shows_to_be_empty_are_not_exposed() -> None:
    rows = [("a", "x", "p")] * 4 + [("a", "y", "q")] * 5 + [("b", "x", "q")] * 6 + [("b", "x", "p")] * 7
    frame = pl.DataFrame([*rows, *[("b", "z", "p")] * 3, *[("b", "z", "q")] * 2], schema=["row", "column", "kind"], orient="row")
    whole = unveil.table(frame, ["row", "column", "kind"], tables=[["row", "column"], ["row", "kind"]]).to_frame()
    assert unveil.tables.audit(whole).safe
    found = unveil.tables.audit(whole.with_columns(n=pl.when(pl.col("n") == 0).then(None).otherwise("n")))
    assert not found.safe  # a blank that is shown to be empty is


def test_a_sensitive_cell_that_is_published_is_known_to_the_attacker() -> None:
    """Beside the published 1 of (N, s), the row leaves (N, f) one value; were it unknown, (N, f) would look open."""
    records = [
        ("N", "f", 2),
        ("N", "s", 1),
        ("N", "t", 6),
        ("S", "f", 2),
        ("S", "s", 5),
        ("S", "t", 7),
        ("E", "f", 8),
        ("E", "s", 9),
    ]
    people = pl.DataFrame([(a, b) for a, b, n in records for _ in range(n)], schema=BY, orient="row")
    whole = unveil.table(people, BY)
    blank = {("N", "f"), ("S", "s"), ("S", "t")}
    published = whole.to_frame().with_columns(
        n=pl.Series([None if (a, b) in blank else n for a, b, n in whole.to_frame().iter_rows()], dtype=pl.Int64)
    )
    audited = unveil.tables.audit(published, original=people, rules="threshold=3", insiders="none").to_dict()
    found = {(one["by"]["region"], one["by"]["sector"]): one for one in audited["cells"]}
    assert (found["N", "f"]["low"], found["N", "f"]["high"], found["N", "f"]["exposed"]) == (2, 2, True)
    assert "follows from" in found["N", "f"]["because"]
    assert found["N", "s"]["exposed"]
    assert found["N", "s"]["because"] == "(N, s) is sensitive, but published."
    blind = unveil.tables.audit(published).to_dict()["cells"]  # who only sees what is published computes the same
    assert {(one["low"], one["high"]) for one in blind} == {
        (one["low"], one["high"]) for place, one in found.items() if place in blank
    }


@pytest.mark.parametrize("by", [["region"], ["region", "sector"], ["size", "region", "sector"]])
def test_a_crosstab_is_read_back(by: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same cells have the same intervals, whichever form was written."""
    FIRMS.with_columns(
        size=pl.col("worth") > 20, region=pl.col("region") + " / 1" if len(by) == 2 else pl.col("region")
    ).write_csv(tmp_path / "f.csv")
    named = [word for name in by for word in ("--by", name)]
    make = ["table", str(tmp_path / "f.csv"), *named, "--rule", "threshold=3", "--protect", "suppress"]
    answers = []
    for form in ("long", "crosstab"):
        out = tmp_path / f"{form}.csv"
        assert run([*make, "--form", form, "--out", str(out)]) == 0
        capsys.readouterr()
        audit = ["--audit", str(out), *named]
        answers.append(told(capsys, *audit, "--original", str(tmp_path / "f.csv"), "--rule", "threshold=3", code=0))
        answers.append(told(capsys, *audit, code=0))
    assert answers[:2] == answers[2:]
    assert answers[0]["on"] == "count"
    assert bool(answers[0]["cells"]) == (len(by) > 1)


def test_what_of_a_crosstab_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = "region / size,Total,f\nTotal / Total,9,9\nTotal / 1 / 2,9,9\nN / Total,9,9\nN / 1 / 2,9,9\n"
    (tmp_path / "cross.csv").write_text(table)
    assert "A crosstab can be read if its dimensions are named" in refused(capsys, "--audit", str(tmp_path / "cross.csv"))
    named = ["--by", "region", "--by", "size", "--by", "sector"]
    assert "2 rows of the crosstab do not begin" in refused(capsys, "--audit", str(tmp_path / "cross.csv"), *named)
    (tmp_path / "ranges.csv").write_text("region,Total,f,g\nTotal,9,5,4\nN,9,[0; 9],[0; 9]\n")
    named = ["--by", "region", "--by", "sector"]
    assert "the crosstab has entries that are neither" in refused(capsys, "--audit", str(tmp_path / "ranges.csv"), *named)


def test_a_crosstab_of_values_is_one_of_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "halves.csv").write_text("region,Total,f,g\nTotal,9.5,5,4.5\nN,4,x,x\nS,5.5,x,x\n")
    words = ["--audit", str(tmp_path / "halves.csv"), "--by", "region", "--by", "sector"]
    assert told(capsys, *words, code=0)["on"] == "value"
    (tmp_path / "whole.csv").write_text("region,Total,f,g\nTotal,9,5,4\nN,4,x,x\nS,5,x,x\n")
    words[1] = str(tmp_path / "whole.csv")
    assert told(capsys, *words, code=0)["on"] == "count"
    assert told(capsys, *words, "--on", "value", code=0)["on"] == "value"


def test_figures_that_are_no_numbers_are_refused() -> None:
    published = pl.DataFrame({"a": ["x", "y"], "n": pl.Series([object(), 1j], dtype=pl.Object)})
    with pytest.raises(TableError, match="neither figures nor blanks"):
        unveil.tables.audit(published, by=["a"], figures="n")
