from __future__ import annotations

import threading
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import unveil
from helpers import varied
from unveil.counts import Counts
from unveil.errors import ArgumentError, UndefinedMeasureError
from unveil.measures.subset_walk import Rates, Savings, Subset, Walk
from unveil.testing import tables

COLUMNS = ["a", "b", "c", "d"]


def every_subset(columns: list[str]) -> list[tuple[str, ...]]:
    return [key for size in range(1, len(columns) + 1) for key in combinations(columns, size)]


def walked(
    counts: Counts, keys: list[str], sensitive: list[str], savings: Savings, *, largest: int | None = None, within: float = 0.0
) -> list[Subset]:
    """Walk over the subsets as `unveil.scan` does; `within` is the sum of w log2 w over the records."""
    return Walk(counts, keys, Rates(counts, sensitive, within), largest or len(keys), savings=savings).run(1)


@given(tables(columns=5), st.sampled_from([1, 2]))
def test_every_subset_is_what_a_direct_call_gives(frame: pl.DataFrame, threads: int) -> None:
    assume(varied(frame, "e"))
    found = {subset.key: subset for subset in unveil.scan(frame, COLUMNS, "e", threads=threads).subsets}
    assert set(found) == set(every_subset(COLUMNS))
    for key, subset in found.items():
        direct, identity = unveil.discrimination_rate(frame, key, "e"), unveil.discrimination_rate(frame, key)
        assert subset.dr == pytest.approx(direct.value, abs=1e-12)
        assert subset.identity_dr == pytest.approx(identity.value, abs=1e-12)
        assert subset.kind == direct.kind
        assert subset.classes == len(direct.by_value)


@given(tables(columns=5), st.booleans(), st.booleans())
def test_columns_that_are_summed_out_change_nothing(frame: pl.DataFrame, weighted: bool, gathered: bool) -> None:
    """However few cells there are, and however little it saves; whether the cells of a class stand side by side or not."""
    assume(varied(frame, "e"))
    named: dict[str, Any] = {"weights": "w"} if weighted else {}
    given_weights = frame.with_columns(w=pl.int_range(1, frame.height + 1) / 4)
    within = float((given_weights["w"] * given_weights["w"].log(2)).sum()) if weighted else 0.0
    counts = unveil.count(given_weights, [*COLUMNS, "e"], **named)
    found = walked(counts, COLUMNS, ["e"], Savings(left=1, cells=1, worth=1.0, shared=1 if gathered else 5), within=within)
    assert {subset.key for subset in found} == set(every_subset(COLUMNS))
    for subset in found:
        direct = unveil.discrimination_rate(given_weights, subset.key, "e", **named)
        assert subset.dr == pytest.approx(direct.value, abs=1e-12)
        assert subset.identity_dr == pytest.approx(
            unveil.discrimination_rate(given_weights, subset.key, **named).value, abs=1e-12
        )
        assert (subset.kind, subset.classes) == (direct.kind, len(direct.by_value))


@given(tables(columns=5), st.sampled_from(["e", "d", None]))
def test_the_order_of_the_cells_changes_nothing(frame: pl.DataFrame, sensitive: str | None) -> None:
    """Of many attributes the cells are taken in the order in which they were counted."""
    assume(sensitive is None or varied(frame, sensitive))
    keys = [name for name in ("c", "b", "a") if name != sensitive]
    counts = unveil.count(frame, keys if sensitive is None else [*keys, sensitive])
    in_order = unveil.scan(counts, keys, sensitive).subsets
    as_counted = walked(counts, keys, [] if sensitive is None else [sensitive], Savings(few=0))
    found = {subset.key: subset for subset in as_counted}
    assert len(found) == len(in_order)
    for subset in in_order:
        other = found[subset.key]
        assert (subset.kind, subset.classes) == (other.kind, other.classes)
        assert (subset.dr, subset.identity_dr) == pytest.approx((other.dr, other.identity_dr), abs=1e-12)


@pytest.mark.parametrize("shared", [1, 5])
def test_more_columns_than_a_word_holds_are_summed_out_as_far_as_it_goes(shared: int) -> None:
    """Five columns of 13 bits do not fit into 64 together."""
    rows = np.arange(1 << 13)
    large = {f"c{at}": (rows * 7919 + at) % (len(rows) - at) for at in range(5)}
    frame = pl.DataFrame({**large, "few": rows % 3, "sex": rows % 2, "x": rows % 5 > 1})
    keys = [*large, "few", "sex"]
    subsets = walked(unveil.count(frame, [*keys, "x"]), keys, ["x"], Savings(shared=shared), largest=2)
    found = {subset.key: subset for subset in subsets}
    for key in (("few", "sex"), ("c0", "few"), ("c3",)):
        direct = unveil.discrimination_rate(frame, key, "x")
        assert found[key].dr == pytest.approx(direct.value, abs=1e-12)
        assert found[key].kind == direct.kind


@given(tables(columns=4))
def test_against_records_every_subset_is_what_a_direct_call_gives(frame: pl.DataFrame) -> None:
    for subset in unveil.scan(frame).subsets:
        direct = unveil.discrimination_rate(frame, subset.key)
        assert subset.dr == subset.identity_dr == pytest.approx(direct.value, abs=1e-12)
        assert subset.kind == direct.kind


@given(tables(columns=4), st.one_of(st.none(), st.just("d")))
def test_minimal_identifiers_are_the_smallest_that_identify(frame: pl.DataFrame, sensitive: str | None) -> None:
    assume(sensitive is None or varied(frame, sensitive))
    keys = COLUMNS[:3] if sensitive else COLUMNS
    result = unveil.scan(frame, keys, sensitive)
    kinds = {key: unveil.discrimination_rate(frame, key, sensitive).kind for key in every_subset(keys)}
    identifying = [set(key) for key, kind in kinds.items() if kind == "identifier"]
    minimal = {key for key in kinds if set(key) in identifying and not any(other < set(key) for other in identifying)}
    assert set(result.minimal_identifiers) == minimal


@given(tables(columns=4), st.data())
def test_weights_enter_every_subset(frame: pl.DataFrame, data: st.DataObject) -> None:
    assume(varied(frame, "d"))
    weights = data.draw(st.lists(st.floats(0.25, 8.0), min_size=frame.height, max_size=frame.height))
    weighted = frame.with_columns(w=pl.Series(weights))
    for subset in unveil.scan(weighted, ["a", "b", "c"], "d", weights="w").subsets:
        direct = unveil.discrimination_rate(weighted, subset.key, "d", weights="w")
        identity = unveil.discrimination_rate(weighted, subset.key, weights="w")
        assert subset.dr == pytest.approx(direct.value, abs=1e-12)
        assert subset.identity_dr == pytest.approx(identity.value, abs=1e-12)
        assert subset.kind == direct.kind


def test_max_size_limits_the_subsets() -> None:
    keys = ["age", "sex", "race", "education"]
    for threads in (1, 2):
        found = unveil.scan("adult", keys, "occupation", max_size=2, threads=threads)
        assert sorted(subset.key for subset in found.subsets) == sorted(key for key in every_subset(keys) if len(key) <= 2)


def test_threads_change_nothing() -> None:
    keys = ["age", "sex", "race", "education", "hours-per-week", "fnlwgt"]
    one, two = (unveil.scan("adult", keys, "occupation", threads=threads) for threads in (1, 2))
    assert one.to_dict() == two.to_dict()


def test_the_riskiest_comes_first_and_the_smaller_of_equals() -> None:
    subsets = unveil.scan("adult", ["age", "sex", "race", "fnlwgt"], "occupation").subsets
    order = [(-subset.dr, len(subset.key)) for subset in subsets]
    assert order == sorted(order)


def test_the_answer_has_the_parts_of_the_contract() -> None:
    answer = unveil.scan("paper-4", ["ZIP", "Age"], "Disease").to_dict()
    assert answer["minimal_identifiers"] == [["ZIP", "Age"]]
    assert {"key", "dr", "kind"} <= answer["subsets"][0].keys()
    assert answer["subsets"][0]["key"] == ["ZIP", "Age"]


def test_supersets_of_an_identifier_are_not_recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of splits done is counted at the kernel's door: an identifier leaves nothing to split."""
    from unveil.counts.refine import Refiner

    done = []
    original = Refiner.split

    def counted(self: Refiner, *arguments: Any) -> Any:
        done.append(1)
        return original(self, *arguments)

    monkeypatch.setattr(Refiner, "split", counted)
    frame = pl.DataFrame({"a": range(8), "b": [1, 1, 2, 2, 3, 3, 4, 4], "c": [1, 2] * 4, "d": [1, 1, 1, 1, 2, 2, 2, 2]})
    result = unveil.scan(frame, threads=1)
    assert len(result.subsets) == 15
    assert result.minimal_identifiers == (("a",), ("b", "c"))
    # {a}, {b}, {c}, {d}, {b, c}, {b, d}, {c, d}: every other subset contains {a} or {b, c}
    assert len(done) == 7


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_is_told_and_reaches_the_end(threads: int) -> None:
    calls: list[tuple[int, int]] = []

    def told(_stage: str, done: int, total: int) -> None:
        calls.append((done, total))

    unveil.scan("adult", ["age", "sex", "race"], threads=threads, progress=told)
    assert calls[-1] == (7, 7)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_the_scan_and_its_threads(threads: int) -> None:
    def interrupt(_stage: str, _done: int, _total: int) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        unveil.scan("adult", threads=threads, progress=interrupt)
    assert threading.active_count() == before


def test_too_many_subsets_are_refused_with_a_way_out() -> None:
    frame = pl.DataFrame({f"c{at}": [1, 2] for at in range(30)})
    with pytest.raises(ArgumentError, match="give a smaller max_size"):
        unveil.scan(frame)
    assert len(unveil.scan(frame, max_size=2).subsets) == 30 + 435


def test_thousands_of_columns_work() -> None:
    """More than Python may nest calls (1,000), and more than a word of any length counts."""
    frame = pl.DataFrame({f"c{at}": [1, at % 2, 3] for at in range(2_500)})
    result = unveil.scan(frame, max_size=1)
    assert len(result.subsets) == 2_500
    assert unveil.discrimination_rate(frame, frame.columns[:-1], "c2499").kind == "identifier"


def test_what_is_undefined_is_refused() -> None:
    with pytest.raises(UndefinedMeasureError, match="one value only"):
        unveil.scan(pl.DataFrame({"y": [1, 2], "x": [1, 1]}), "y", "x")
    with pytest.raises(UndefinedMeasureError, match="one record only"):
        unveil.scan(pl.DataFrame({"y": [1]}))
    with pytest.raises(ArgumentError, match="max_size is 0; it must be at least 1"):
        unveil.scan(pl.DataFrame({"y": [1, 2]}), max_size=0)


@pytest.mark.parametrize("threads", [0, -1, 1 << 40])
def test_a_number_of_threads_that_no_machine_has_is_refused(threads: int) -> None:
    with pytest.raises(ArgumentError, match="threads"):
        unveil.scan("paper-4", ["ZIP", "Age"], threads=threads)
