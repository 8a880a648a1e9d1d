"""A release crosses to another process, whatever made it, and is the same there: records, account and link."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.errors import UnsupportedDataError
from unveil.mechanisms.facts import FACTS, RECODINGS
from unveil.models import KAnonymity
from unveil.releases import WrittenTable
from unveil.run import Limits, Run
from unveil.sources import open_source

PEOPLE = pl.DataFrame({
    "age": [20, 25, 30, 35, 40, 45, 50, 55] * 6,
    "pay": [1.0, 2.5, 3.0, 4.5] * 12,
    "town": list("aabb") * 12,
    "sex": list("fm") * 24,
    "note": ["call 030 123456"] * 48,
    "job": list("xyzxyz") * 8,
})  # fmt: skip
KEY, K = ["age", "sex"], [KAnonymity(7)]
NEED = unveil.Need("pay", target="sex", given="age")
SETS = {"town": ["a", "b"], "sex": ["f", "m"]}

MAKERS: dict[str, Callable[[], unveil.Release[Any]]] = {
    "generalize": lambda: unveil.anonymize(PEOPLE, KEY, K),
    "generalize_subtrees": lambda: unveil.generalize_subtrees(PEOPLE, KEY, K),
    "mondrian": lambda: unveil.mondrian(PEOPLE, KEY, K),
    "recode_locally": lambda: unveil.recode_locally(PEOPLE, KEY, K),
    "suppress_locally": lambda: unveil.suppress_locally(PEOPLE, KEY, 7),
    "anonymize_front": lambda: unveil.anonymize_front(PEOPLE, ["age"], NEED, sensitive="job").chosen,
    "protect": lambda: unveil.protect(PEOPLE, [unveil.Step("swap", "job"), unveil.Step("generalize", ["age"], {"k": 2})]),
    "add_noise": lambda: mechanisms.add_noise(PEOPLE, "pay"),
    "anatomize": lambda: mechanisms.anatomize(PEOPLE, KEY, "job", l=2),
    "dp_microaggregate": lambda: mechanisms.dp_microaggregate(PEOPLE, ["age"], bounds={"age": (0, 100)}, epsilon=1.0, k=8),
    "dp_synthesize": lambda: mechanisms.dp_synthesize(PEOPLE, [*SETS], domains=SETS, epsilon=1.0),
    "generalize_sets": lambda: mechanisms.generalize_sets(PEOPLE, "note", k=2),
    "massc": lambda: mechanisms.massc(PEOPLE, ["town", "age"], risk=0.5),
    "microaggregate": lambda: mechanisms.microaggregate(PEOPLE, "pay", k=3),
    "pram": lambda: mechanisms.pram(PEOPLE, "town", retention=0.5),
    "pseudonymize": lambda: mechanisms.pseudonymize(PEOPLE, "note"),
    "rank_swap": lambda: mechanisms.rank_swap(PEOPLE, "pay"),
    "redact_text": lambda: mechanisms.redact_text(PEOPLE, "note"),
    "resample": lambda: mechanisms.resample(PEOPLE, "pay"),
    "round_values": lambda: mechanisms.round_values(PEOPLE, "pay", base=2),
    "safepub": lambda: mechanisms.safepub(pl.concat([PEOPLE] * 20), ["town"], epsilon=1.0, delta=0.01),
    "sample": lambda: mechanisms.sample(PEOPLE, share=0.5),
    "shuffle": lambda: mechanisms.shuffle(PEOPLE, "pay", given="age"),
    "swap": lambda: mechanisms.swap(PEOPLE, "pay", share=0.5),
    "swap_households": lambda: mechanisms.swap_households(PEOPLE, ["town"], risk="age", k=2, share=0.1),
    "synthesize": lambda: mechanisms.synthesize(PEOPLE, ["age", "town"]),
    "top_bottom_code": lambda: mechanisms.top_bottom_code(PEOPLE, "pay", top=2),
}
ANSWERS = {"dp_count", "dp_sum", "dp_mean", "dp_histogram", "dp_marginals"}
"""Mechanisms that make no release."""


def sent(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 - our own


def require_same(there: unveil.Release[Any], here: unveil.Release[Any], folder: Path) -> None:
    """Require that two releases are the same in all that can be seen of them, and in their links."""
    assert {**there.to_dict(), "seconds": None} == {**here.to_dict(), "seconds": None}
    assert there.record == here.record
    assert repr(there) == repr(here)
    assert there.origin.tolist() == here.origin.tolist()
    assert [*there.tables] == [*here.tables]
    for name, table in here.tables.items():
        assert there.tables[name].native().equals(table.native())
    if len(here.tables) == 1:
        there.write_link(folder / "there.csv")
        here.write_link(folder / "here.csv")
        assert (folder / "there.csv").read_bytes() == (folder / "here.csv").read_bytes()


def test_every_mechanism_and_search_is_tried() -> None:
    assert {*FACTS, *RECODINGS} - ANSWERS == {*MAKERS} - {"anonymize_front", "protect"}


@pytest.mark.parametrize("name", MAKERS)
def test_a_release_is_the_same_after_it_was_sent(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNVEIL_KEY", "0123456789abcdef" * 4)
    release = MAKERS[name]()
    require_same(sent(release), release, tmp_path)


@pytest.mark.parametrize(
    "kind",
    [pl.DataFrame, pl.DataFrame.lazy, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow],
    ids=["eager", "lazy", "pandas", "arrow"],
)
def test_its_records_are_a_frame_of_the_callers_library(kind: Callable[[pl.DataFrame], Any]) -> None:
    release = unveil.anonymize(kind(PEOPLE), KEY, K)
    there, here = sent(release).data, release.data
    assert type(there) is type(here) is type(kind(PEOPLE))
    assert there.collect().equals(here.collect()) if isinstance(here, pl.LazyFrame) else there.equals(here)


def test_a_front_makes_the_same_releases_there(tmp_path: Path) -> None:
    front = unveil.anonymize_front(PEOPLE, ["age"], NEED, sensitive="job")
    there = sent(front)
    assert there.adjusted == front.adjusted
    for at in range(len(front)):
        require_same(there.release(at), front.release(at), tmp_path)


def test_a_process_of_its_own_returns_a_release(tmp_path: Path) -> None:
    release = unveil.run_in_process(unveil.anonymize, PEOPLE, KEY, K, seed=1)
    require_same(release, unveil.anonymize(PEOPLE, KEY, K, seed=1), tmp_path)


def test_a_release_in_a_file_is_read_there_and_one_in_an_open_connection_is_refused(tmp_path: Path) -> None:
    import duckdb

    data, out = tmp_path / "people.csv", tmp_path / "release.csv"
    PEOPLE.write_csv(data)
    with Run(limits=Limits(stream_from=1)):
        release = unveil.anonymize(data, KEY, K, out=out)
    assert isinstance(release.data, pl.LazyFrame)
    assert sent(release).data.collect().equals(release.data.collect())
    with duckdb.connect() as connection:
        table = WrittenTable(open_source(connection.sql("SELECT 1 AS a")), 1)
        with pytest.raises(UnsupportedDataError, match="belongs to this process"):
            sent(replace(release, records=table))
