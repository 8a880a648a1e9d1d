"""The benchmarks without their clocks: how a figure is said, recorded, compared with the stored one, and shown."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmarks import lattices, peers, record, search
from benchmarks.__main__ import PARTS, main
from benchmarks.arx import Arx, ArxError, ArxRequest, Searched, requirement
from benchmarks.growth import drawn
from benchmarks.page import DOCS, chart, page
from benchmarks.rows import Row, at_most, faster, not_measured, seconds, slower
from benchmarks.scale import census
from benchmarks.sdcmicro import Case, Ran, SdcMicro, SdcMicroError, against_sdcmicro, households

from unveil.models import EntropyLDiversity, KAnonymity, TCloseness
from unveil.search.lattice.full_domain import SearchResult
from unveil.search.lattice.generalisation import Lattice
from unveil.search.request import request_of, wanted_of


def parts(*rows: Row, machine: str = "here") -> dict[str, Any]:
    return {"models": {"machine": machine, "date": "2025-01-01", "version": "1.0", "rows": [row.to_dict() for row in rows]}}


def test_a_ratio_says_which_way_is_better_and_whether_its_goal_is_met() -> None:
    row = faster("count", 0.25, 5.0, against="pandas", least=20)
    assert (row.value, row.better, row.met) == (20.0, "higher", True)
    assert row.measured == "20.0 times faster (250 ms against 5.00 s)"
    assert faster("count", 0.25, 4.9, against="pandas", least=20).met is False
    assert faster("count", 3.0, 2.0, against="pandas", least=1).measured == "1.50 times slower (3.00 s against 2.00 s)"
    row = slower("count", 3.0, 2.0, most=1.4)
    assert (row.value, row.better, row.met, row.goal) == (1.5, "lower", False, "at most 1.4 times")
    assert slower("count", 3.0, 2.0).met is None
    assert at_most("memory", 12.0, 12.0, "MB").met is True


def test_what_could_not_be_measured_or_finished_is_said() -> None:
    assert faster("count", 1.0, None, against="a tool", least=2).value is None
    assert faster("count", 1.0, None, against="a tool", least=2).met is None
    assert faster("count", 1.0, 8.0, against="a tool", finished=False).measured.startswith("over 8.00 times faster")


@pytest.mark.parametrize(
    ("time", "words"), [(0.0012, "1.20 ms"), (0.25, "250 ms"), (1.5, "1.50 s"), (90.0, "90.0 s"), (600.0, "10.0 min")]
)
def test_times_are_readable(time: float, words: str) -> None:
    assert seconds(time) == words


@pytest.mark.parametrize(
    ("now", "before", "reported"),
    [
        (faster("a", 1.0, 10.0, against=""), faster("a", 1.0, 12.9, against=""), False),
        (faster("a", 1.0, 10.0, against=""), faster("a", 1.0, 13.1, against=""), True),
        (faster("a", 1.0, 20.0, against=""), faster("a", 1.0, 10.0, against=""), False),
        (slower("a", 1.29, 1.0), slower("a", 1.0, 1.0), False),
        (slower("a", 1.31, 1.0), slower("a", 1.0, 1.0), True),
        (slower("a", 1.0, 1.0), slower("a", 2.0, 1.0), False),
        (slower("a", 9.0, 1.0), slower("b", 1.0, 1.0), False),
        (not_measured("a", "no tool"), slower("a", 1.0, 1.0), False),
        (slower("a", 9.0, 1.0), not_measured("a", "no tool"), False),
        (at_most("a", 0.5, 4, "inputs"), at_most("a", 0.0, 4, "inputs"), True),
    ],
)
def test_a_figure_over_30_percent_worse_is_reported(now: Row, before: Row, *, reported: bool) -> None:
    assert bool(list(record.slow_downs(parts(now), parts(before)))) is reported


def test_times_are_compared_on_the_same_machine_only() -> None:
    now, before = at_most("a", 9.0, 10, "s"), at_most("a", 1.0, 10, "s")
    assert list(record.slow_downs(parts(now), parts(before)))
    assert not list(record.slow_downs(parts(now), parts(before, machine="there")))
    assert list(record.slow_downs(parts(slower("a", 9, 1)), parts(slower("a", 1, 1), machine="there")))
    assert not list(record.slow_downs(parts(now), {}))


def test_accepted_parts_take_the_place_of_stored_ones_and_others_stay() -> None:
    stored = {"growth": {"rows": [1]}, "models": {"rows": [2]}}
    assert record.accept({"models": {"rows": [3]}}, stored) == {"growth": {"rows": [1]}, "models": {"rows": [3]}}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = {"models": record.recorded([slower("a", 3.0, 2.0, most=2)])}
    record.write(tmp_path / "new" / "bench.json", found)
    assert record.read(tmp_path / "new" / "bench.json") == found
    assert record.read(tmp_path / "none.json") == {}
    assert {"what", "measured", "value", "goal", "met"} <= set(found["models"]["rows"][0])
    assert "cores" in found["models"]["machine"]


def test_the_page_and_the_chart_show_every_comparison() -> None:
    found = parts(
        faster("<count>", 1.0, 4.0, against="tool <1>", least=2),
        slower("group-by", 3.0, 2.0, against="tool 2", most=1.2),
        at_most("memory", 3.0, 4, "MB"),
        not_measured("other", "no tool"),
    )
    assert page(found).count("\n| ") == 2 + 4
    assert "| group-by | 1.50 times its time (3.00 s against 2.00 s) | at most 1.2 times | no |" in page(found)
    assert "- here; `unveil` 1.0, 2025-01-01: `models`" in page(found)
    texts = [element.text for element in ET.fromstring(chart(found)).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314 - we drew it
    assert texts == ["tool <1>", "0.2500", "tool 2", "1.5000"]


def test_the_documentation_shows_what_is_stored() -> None:
    stored = record.read(record.STORED)
    assert DOCS.joinpath("speed.md").read_text(encoding="utf-8") == page(stored)
    assert DOCS.joinpath("speed.svg").read_text(encoding="utf-8") == chart(stored)
    assert set(stored) <= set(PARTS)
    names = [row["what"] for part in stored.values() for row in part["rows"]]
    assert len(names) == len(set(names))


def test_every_part_can_be_run_and_is_described() -> None:
    described = Path(record.__file__).with_name("README.md").read_text(encoding="utf-8")
    for part in PARTS:
        assert callable(import_module(f"benchmarks.{part}").run)
        assert f"`{part}`" in described


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["models", "nonsense"])
    assert refused.value.code == 2
    assert "no part nonsense; there are foundation," in capsys.readouterr().err


def test_a_tool_that_fails_gives_no_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "build/peers/tool/bin"
    home.mkdir(parents=True)
    home.parent.joinpath(".installed").touch()
    home.joinpath("python").write_text(
        '#!/bin/sh\nif [ "$2" = good ]; then echo noise; echo 1.5 $3; else echo wrong >&2; exit 1; fi\n'
    )
    home.joinpath("python").chmod(0o755)
    assert peers.printed(("tool",), "good", "7") == ["1.5", "7"]
    assert peers.printed(("tool",), "bad") is None
    assert "tool: wrong" in capsys.readouterr().err


def java(folder: Path, monkeypatch: pytest.MonkeyPatch, compiles: str, runs: str) -> None:
    """Put a JDK of two scripts in the place of all programs, and work in a folder of its own."""
    tools = folder / "tools"
    tools.mkdir()
    for name, script in (("javac", compiles), ("java", runs)):
        tools.joinpath(name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        tools.joinpath(name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.chdir(folder)


def test_a_jar_that_is_not_there_is_said_in_a_row(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNVEIL_ARX_JAR", str(tmp_path / "none.jar"))
    (row,) = search.against_arx()
    assert row.measured == "not measured: there is no file where UNVEIL_ARX_JAR says"
    assert (row.value, row.met) == (None, None)


def test_a_jdk_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jar = tmp_path / "arx.jar"
    jar.touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ArxError, match="a JDK is needed"):
        Arx.of(jar)


def test_a_jar_of_something_else_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jar = tmp_path / "other.jar"
    jar.touch()
    java(tmp_path, monkeypatch, "echo 'ArxRun.java:8: error: no package' >&2; exit 1", "exit 1")
    with pytest.raises(ArxError, match="is no ARX library that the programs fit"):
        Arx.of(jar)
    assert capsys.readouterr().err == "javac: ArxRun.java:8: error: no package\n"


def test_arx_is_asked_for_the_same_and_what_it_finds_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jar = tmp_path / "arx.jar"
    jar.touch()
    java(
        tmp_path, monkeypatch, "exit 0", 'echo "$*" > asked; read -r first < "$6"; echo "$first" > head; echo 0.25 0.5 7 a=1 b=0'
    )
    models = (KAnonymity(5), EntropyLDiversity("c", 3), TCloseness("c", 0.2, "hierarchical"), TCloseness("c", 0.3, "equal"))
    request = ArxRequest(pl.DataFrame({"a": [1], "b": [2], "c": [3]}), "trees/of_", ["a", "b"], models, 0.04)
    assert Arx.of(jar).searched(request, 3) == Searched(0.25, 0.5, 7, {"a": 1, "b": 0})
    words = tmp_path.joinpath("asked").read_text(encoding="utf-8").split()
    assert words[1:5] == ["-cp", f"build/peers/arx:{jar}", "ArxRun", "3"]
    assert words[6:] == ["trees/of_", "a,b", "0.04", "k:5", "entropy-l:c:3", "hierarchical-t:c:0.2", "equal-t:c:0.3"]
    assert tmp_path.joinpath("head").read_text(encoding="utf-8") == "a;b;c\n"


def test_arx_searches_within_limits_and_may_find_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java(tmp_path, monkeypatch, "exit 0", 'echo "$*" > asked; echo a warning; echo 5.1 none; echo 20.2 0.5 7 a=1')
    request = ArxRequest(pl.DataFrame({"a": [1]}), "", ["a"], [KAnonymity(2)], 0.0)
    assert Arx("here").within(request, "genetic", (5, 20)) == [None, Searched(20.2, 0.5, 7, {"a": 1})]
    words = tmp_path.joinpath("asked").read_text(encoding="utf-8").split()
    assert words[3:6] == ["ArxHeuristics", "BEST_EFFORT_GENETIC", "5,20"]
    assert Searched(1.0, 0.5, 7, {"a": 1}).fixed == {"a": (1, 1)}


def test_what_arx_recodes_locally_is_read_as_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java(tmp_path, monkeypatch, "exit 0", 'echo "$4 $5 $7" > asked; printf "a;b\\n1;*\\n" > "$6"; echo 0.25')
    request = ArxRequest(pl.DataFrame({"a": [1], "b": [2]}), "", ["a", "b"], [KAnonymity(2)], 0.0)
    seconds, release = Arx("here").recoded_locally(request, 0.01, 3)
    assert (seconds, release.rows()) == (0.25, [("1", "*")])
    assert tmp_path.joinpath("asked").read_text(encoding="utf-8") == "ArxLocal 3 0.01\n"


def test_a_loss_above_arxs_lowest_does_not_meet_the_goal() -> None:
    found = SearchResult((1,), 0.44, 7, 0.3, optimal=False, lattice=12, evaluated=3, closest=((1,), 7))
    theirs = {"binary": None, "genetic": Searched(5.0, 0.44 + 1e-9, 7, {"a": 1})}
    row = lattices.row_of(1, 5, found, theirs)
    assert row.met
    assert row.measured == "0.4400 (at least 0.3000, gap 0.1400; 12 nodes); ARX: binary none, genetic 0.4400"
    assert lattices.row_of(1, 5, found, {"genetic": Searched(5.0, 0.43, 7, {"a": 1})}).met is False


def test_arx_that_stops_gives_no_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    java(tmp_path, monkeypatch, "exit 0", "echo first >&2; echo second >&2; exit 1")
    with pytest.raises(ArxError, match="ARX stopped with an error"):
        Arx("here").searched(ArxRequest(pl.DataFrame({"a": [1]}), "", ["a"], [KAnonymity(2)], 0.0), 1)
    assert capsys.readouterr().err == "java: first\n"
    with pytest.raises(ArxError, match="distance 'rank'"):
        requirement(TCloseness("a", 0.2, "rank"))


@pytest.mark.parametrize(
    ("model", "theirs", "said"),
    [
        (KAnonymity(2), Searched(1.0, 1 / 3 + 1e-10, 0, {"age": 1}), ""),
        (KAnonymity(2), Searched(1.0, 1.0, 0, {"age": 2}), None),  # worse, for no known reason
        (KAnonymity(2), Searched(1.0, 0.0, 0, {"age": 0}), None),  # better, and there is no distance to overflow
        (EntropyLDiversity("ill", 2), Searched(1.0, 0.9, 2, {"age": 1}), "; ARX rejects ties, and suppresses 2 records for 0"),
        (TCloseness("ill", 0.2, "hierarchical"), Searched(1.0, 0.1, 0, {"age": 1}), None),  # better, and it will do
        (TCloseness("ill", 0.2, "hierarchical"), Searched(1.0, 0.0, 0, {"age": 0}), "; ARX's release is not t-close: its distance overflows"),
    ],
)  # fmt: skip
def test_another_loss_than_that_of_arx_is_explained_or_refused(
    model: KAnonymity | EntropyLDiversity | TCloseness, theirs: Searched, said: str | None, tmp_path: Path
) -> None:
    tmp_path.joinpath("age.csv").write_text("22;20-29;*\n25;20-29;*\n38;30-39;*\n39;30-39;*\n", encoding="utf-8")
    tmp_path.joinpath("ill.csv").write_text("flu;*\ngout;*\n", encoding="utf-8")
    people = pl.DataFrame({"age": [22, 25, 38, 39], "ill": ["flu", "gout", "gout", "flu"]})
    trees = {"age": tmp_path / "age.csv", "ill": tmp_path / "ill.csv"}
    request = ArxRequest(people, f"{tmp_path}/", ["age"], [model], 0.0)
    found = Lattice.of(request_of(wanted_of(people, ["age"], [model], hierarchies=trees))).searched()
    if said is None:
        with pytest.raises(AssertionError):
            search.difference(request, found, theirs)
    else:
        assert search.difference(request, found, theirs) == said


def r(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a script in the place of R, beside the programs of the system."""
    tools = folder / "tools"
    tools.mkdir()
    tools.joinpath("Rscript").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    tools.joinpath("Rscript").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")


def job(**more: Any) -> Case:
    table = pl.DataFrame({"a-b": [1, 2], "c": ["x", "y"]})
    return Case("a job", "job", lambda: 7, 1e6, "noise", ["a-b", "c"], ["d-e", 3], table=table, runs=2, **more)


def test_without_r_sdcmicros_recorded_time_is_marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("UNVEIL_R_LIBRARY", raising=False)
    (row,) = against_sdcmicro([job()])
    assert row.what == "a job, against sdcMicro's time on such a machine"
    assert (row.against, row.met) == ("sdcMicro*: job", True)


def test_r_without_sdcmicro_counts_as_no_r_unless_a_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    r(tmp_path, monkeypatch, "echo 'there is no package' >&2; exit 1")
    monkeypatch.delenv("UNVEIL_R_LIBRARY", raising=False)
    assert SdcMicro.found() is None
    monkeypatch.setenv("UNVEIL_R_LIBRARY", str(tmp_path))
    (row,) = against_sdcmicro([job()])
    assert row.measured == "not measured: there is no sdcMicro in the library that UNVEIL_R_LIBRARY names"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SdcMicroError, match="R is needed"):
        SdcMicro.found()


def test_sdcmicro_is_asked_for_the_same_and_what_it_gives_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNVEIL_R_LIBRARY", "a/library")
    r(tmp_path, monkeypatch, 'echo "$R_LIBS $*" > asked; [ -f "$3" ] && head -1 "$3" > head; echo noise; echo 2.5 0.25 8')
    (row,) = against_sdcmicro([job(compared=lambda ours, theirs: f"; {ours} and {theirs}")])
    assert row.measured.endswith("against 2.50 s); 7 and (0.25, 8.0)")
    assert (row.what, row.against) == ("a job, against sdcMicro", "sdcMicro: job")
    library, *words = tmp_path.joinpath("asked").read_text(encoding="utf-8").split()
    assert library.split(":")[0] == "a/library"
    assert words[3:] == ["noise", "2", "a_b,c", "d_e", "3"]  # names that R's formulas can hold
    assert tmp_path.joinpath("head").read_text(encoding="utf-8") == "a_b,c\n"


def test_sdcmicro_that_lasts_too_long_or_fails_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("UNVEIL_R_LIBRARY", raising=False)
    r(tmp_path, monkeypatch, '[ "$2" = -e ] && exit 0; [ "$2" = stop ] && { echo wrong >&2; exit 1; }; while :; do :; done')
    found = SdcMicro.found()
    assert found is not None
    assert found.ran(job(limit=1)) == Ran(1.0, finished=False)
    with pytest.raises(SdcMicroError, match="stopped with an error"):
        SdcMicro(found.program, "").printed("stop", limit=5)
    assert capsys.readouterr().err == "sdcMicro: wrong\n"


def test_generators_give_the_same_table_again() -> None:
    assert households().equals(households())
    assert households().group_by("household").agg(pl.col("district").n_unique())["district"].max() == 1
    assert drawn(50, 3, 10).equals(drawn(50, 3, 10))
    assert not drawn(50, 3, 10).equals(drawn(50, 3, 10, seed=1))
    first, again = (pl.concat(census(1000)) for _ in range(2))
    assert first.equals(again)
    assert first.height == 1000


def test_stored_figures_are_json_that_others_can_read() -> None:
    stored = json.loads(record.STORED.read_text(encoding="utf-8"))
    for part in stored.values():
        assert part["rows"]
        assert all(row["better"] in {"higher", "lower"} for row in part["rows"])
