"""Files of tables: hierarchies, tau-Argus, what is written and read again."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import DataFileError, HierarchyError, TableError
from unveil.tables.files.argus import read_apriori, read_jj, read_tab
from unveil.tables.files.hierarchies import read_hierarchy

PEOPLE = pl.DataFrame({"region": ["N1"] * 5 + ["N2"] * 7 + ["S1"] * 2 + ["S2"] * 9, "sex": ["f", "m", "m"] * 7 + ["f", "m"]})
HRC = "North\n@N1\n@N2\nSouth\n@S1\n@S2\n"


def test_hrc_puts_codes_below_the_total_by_their_signs(tmp_path: Path) -> None:
    (tmp_path / "region.hrc").write_text(HRC)
    tree = read_hierarchy(tmp_path / "region.hrc", "region")
    assert tree.labels == (("N1", "North", "Total"), ("N2", "North", "Total"), ("S1", "South", "Total"), ("S2", "South", "Total"))
    table = unveil.table(PEOPLE, ["region", "sex"], hierarchies={"region": tmp_path / "region.hrc"})
    assert table.dimensions[0].codes == ("Total", "North", "N1", "N2", "South", "S1", "S2")
    assert table.n.reshape(7, 3)[:, 0].tolist() == [23, 12, 5, 7, 11, 2, 9]


def test_levels_as_sdctable_writes_them(tmp_path: Path) -> None:
    (tmp_path / "region.csv").write_text("@;Total\n@@;North\n@@@;N1\n@@@;N2\n@@;S\n")
    assert read_hierarchy(tmp_path / "region.csv", "region").labels == (
        ("N1", "North", "Total"),
        ("N2", "North", "Total"),
        ("S", "S", "Total"),
    )


def test_a_code_that_jumps_a_level_is_refused(tmp_path: Path) -> None:
    (tmp_path / "region.hrc").write_text("North\n@@N1\n")
    with pytest.raises(HierarchyError, match="line 2"):
        read_hierarchy(tmp_path / "region.hrc", "region")


def test_a_code_of_two_groups_is_refused() -> None:
    rows = [("a", "x", "Total"), ("b", "y", "Total"), ("x", "y", "Total")]
    with pytest.raises(HierarchyError, match="two different groups"):
        unveil.table(pl.DataFrame({"c": ["a", "b", "x"]}), "c", hierarchies={"c": rows})


def test_decisions_on_single_cells(tmp_path: Path) -> None:
    table = unveil.table(PEOPLE, ["region", "sex"])
    (tmp_path / "cells.hst").write_text('"N1";"f";"u"\nN2;-;p\nS1;m;s\nS2;f;w;50\nS2;m;pl;2;3\n')
    decided = read_apriori(tmp_path / "cells.hst", table.dimensions)
    assert decided.sensitive == {("N1", "f"), ("S2", "m")}
    assert decided.published == {("N2", "Total")}
    assert decided.safe == {("S1", "m")}
    assert decided.cost == {("S2", "f"): 50.0}
    result = table.suppress("threshold=2", apriori=decided, insiders="none")
    status = {tuple(one["by"].values()): one["status"] for one in result.to_dict()["cells"]}
    assert status["N1", "f"] == status["S2", "m"] == "primary"
    assert status["N2", "Total"] == "published"
    (tmp_path / "wrong.hst").write_text("N9;f;u\n")
    with pytest.raises(DataFileError, match="line 1"):
        read_apriori(tmp_path / "wrong.hst", table.dimensions)


def test_a_table_of_tau_argus(tmp_path: Path) -> None:
    (tmp_path / "region.hrc").write_text(HRC)
    (tmp_path / "t.rda").write_text(
        '<SEPARATOR> ";"\n<UNSAFE> "U"\nregion\n<RECODEABLE>\n<TOTCODE> "Total"\n<HIERCODELIST> "region.hrc"\nsex\n<RECODEABLE>\n'
        '<TOTCODE> "Total"\nturnover\n<NUMERIC>\n<RESPONSE>\nfreq\n<NUMERIC>\n<FREQUENCY>\nstatus\n<STATUS>\n'
    )
    made = unveil.table(PEOPLE, ["region", "sex"], hierarchies={"region": tmp_path / "region.hrc"})
    lines = [
        f"{one['region']};{one['sex']};{10 * n};{n};{'U' if 0 < n < 3 else 'S'}"
        for one, n in zip(made.codes_of(made.cells), made.n.tolist(), strict=True)
    ]
    (tmp_path / "t.tab").write_text("\n".join(lines) + "\n")
    table, decided = read_tab(tmp_path / "t.tab")
    assert np.array_equal(table.n, made.n)
    assert table.value is not None
    assert np.array_equal(table.value, 10.0 * made.n)
    assert len(decided.sensitive) == int(((made.n > 0) & (made.n < 3)).sum())
    assert table.suppress((), apriori=decided, on="value", insiders="none").safe


def test_a_problem_in_the_jj_form(tmp_path: Path) -> None:
    counts = np.array([[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    whole = np.zeros((4, 4), dtype=int)
    whole[1:, 1:] = counts
    whole[0, 1:], whole[1:, 0], whole[0, 0] = counts.sum(0), counts.sum(1), counts.sum()
    cells = [
        f"{at} {n} {n} {'u' if at == 11 else 's'} 0 1000000 {6 if at == 11 else 0} {8 if at == 11 else 0} 0"
        for at, n in enumerate(whole.ravel().tolist())
    ]
    grid = np.arange(16).reshape(4, 4)
    lines = [*grid, *grid.T]
    equations = [f"0 4 : {row[0]} (-1) " + " ".join(f"{one} (1)" for one in row[1:]) for row in lines]
    (tmp_path / "p.jj").write_text("\n".join(["0", "16", *cells, "8", *equations]) + "\n")
    table, decided = read_jj(tmp_path / "p.jj")
    result = table.suppress((), apriori=decided, method="optimal", on="value", cost="cells", insiders="none", width=0)
    assert result.cost == result.bound == 59
    assert result.cost_by == "decided"  # by the costs of the file
    (tmp_path / "wrong.jj").write_text("0\n2\n0 1 1 s 0 9 0 0 0\n")
    with pytest.raises(DataFileError, match="JJ form"):
        read_jj(tmp_path / "wrong.jj")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_written_is_read_and_audited_again(tmp_path: Path, ending: str) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE.write_csv())
    out = tmp_path / f"out.{ending}"
    words = ["table", str(tmp_path / "people.csv"), "--by", "region", "--by", "sex", "--rule", "threshold=3"]
    assert run([*words, "--protect", "suppress", "--out", str(out)]) == 0
    assert run(["table", "--audit", str(out), "--original", str(tmp_path / "people.csv"), "--rule", "threshold=3", "--json"]) == 0
    found = unveil.tables.audit(out)
    assert found.safe
    assert len(found.cells) >= 4


def test_a_pattern_that_gives_a_cell_away_ends_with_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = unveil.table(PEOPLE, ["region", "sex"]).to_frame()
    hidden = (pl.col("region") == "S1") & (pl.col("sex") == "f")
    frame.with_columns(n=pl.when(hidden).then(None).otherwise("n")).write_csv(tmp_path / "bad.csv")
    assert run(["table", "--audit", str(tmp_path / "bad.csv")]) == 1
    assert "(S1, f) follows from the total" in " ".join(capsys.readouterr().out.split())


def test_a_published_table_that_does_not_add_up_is_refused(tmp_path: Path) -> None:
    frame = unveil.table(PEOPLE, ["region", "sex"]).to_frame()
    frame.with_columns(n=pl.when(pl.col("region") == "Total").then(pl.col("n") + 1).otherwise("n")).write_csv(
        tmp_path / "bad.csv"
    )
    with pytest.raises(TableError, match="does not add up"):
        unveil.tables.audit(tmp_path / "bad.csv")


def test_a_crosstab_as_text_and_as_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE.write_csv())
    words = [
        "table",
        str(tmp_path / "people.csv"),
        "--by",
        "region",
        "--by",
        "sex",
        "--rule",
        "threshold=3",
        "--protect",
        "suppress",
    ]
    assert run([*words, "--form", "crosstab", "--out", str(tmp_path / "x.csv")]) == 0
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[0] == "region,Total,f,m"
    assert len(lines) == 6
    assert ",," in "\n".join(lines)
    assert run([*words, "--form", "crosstab", "--out", str(tmp_path / "x.xlsx")]) == 0
    with zipfile.ZipFile(tmp_path / "x.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert sheet.count("<row") == 6
    assert "<v>23</v>" in sheet


def test_a_table_that_is_not_safe_is_not_written_for_publication(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE.write_csv())
    words = ["table", str(tmp_path / "people.csv"), "--by", "region", "--by", "sex", "--rule", "threshold=3"]
    assert run([*words, "--out", str(tmp_path / "x.csv")]) == 2
    assert not (tmp_path / "x.csv").exists()
    assert run([*words, "--out", str(tmp_path / "x.html")]) == 1
