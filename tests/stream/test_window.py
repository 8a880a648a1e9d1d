"""The figures of a window are those of its records in a table, to the last digit, whatever came and went before."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unveil
from unveil.counts.window import MovingCounts
from unveil.errors import ArgumentError, CountsError, NullsError, PartitionError, UndefinedMeasureError
from unveil.sources.coding import encode_values
from unveil.stream.derived_columns import GridCell, Hours
from unveil.stream.times import duration_of, moments_of
from unveil.stream.window import Window

NAMES = ("a", "b", "s", "p")
SCHEMA = {"a": pl.Int64, "b": pl.String, "s": pl.String, "p": pl.Int64}
RECORDS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 40, None]),
        st.sampled_from(["x", "y", "é", None]),
        st.sampled_from(["flu", "cold", "hiv"]),
        st.integers(1, 5),
    ),
    min_size=1,
    max_size=40,
)


def table(records: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(records, schema=SCHEMA, orient="row")


def cut(records: list[Any], places: list[int]) -> list[list[Any]]:
    edges = sorted({0, len(records), *(place % (len(records) + 1) for place in places)})
    return [records[start:stop] for start, stop in pairwise(edges)]


def check_same(window: Window, records: pl.DataFrame, key: list[str], sensitive: str | None) -> None:
    try:
        expected = unveil.discrimination_rate(records, key, sensitive)
    except UndefinedMeasureError:
        with pytest.raises(UndefinedMeasureError):
            _ = window.rate
    else:
        assert window.rate == expected.value
        assert window.kind == expected.kind
    sizes = records.group_by(key).len()["len"]
    assert window.k == sizes.min()
    assert window.uniques == (sizes == 1).sum()
    assert window.records == records.height


@given(RECORDS, st.lists(st.integers(0, 100), max_size=4), st.integers(1, 45), st.sampled_from([None, "s"]))
def test_a_window_by_number_measures_its_last_records(
    records: list[Any], places: list[int], size: int, sensitive: str | None
) -> None:
    window = Window(["a", "b"], sensitive, size=size)
    came: list[Any] = []
    for batch in cut(records, places):
        window.update(table(batch))
        came += batch
        check_same(window, table(came[-size:]), ["a", "b"], sensitive)


@given(RECORDS, st.lists(st.integers(0, 100), max_size=4), st.integers(1, 45))
def test_several_keys_and_needs_at_once(records: list[Any], places: list[int], size: int) -> None:
    need = unveil.Need("cure", target="s", given=["b"], at_least=0.1)
    window = Window([["a"], ["b", "a"]], "s", size=size, needs=need)
    for batch in cut(records, places):
        window.update(table(batch))
    last = table(records[-size:])
    for figures, key in zip(window.keys, (["a"], ["b", "a"]), strict=True):
        try:
            expected = unveil.discrimination_rate(last, key, "s")
        except UndefinedMeasureError:
            assert figures.dr is None
            assert figures.reason is not None
        else:
            assert (figures.dr, figures.kind) == (expected.value, expected.kind)
    served = unveil.utility(last, need).needs["cure"]
    assert window.needs["cure"].degree == served.degree
    assert window.needs["cure"].adjusted == served.adjusted
    assert window.needs["cure"].met == served.met


@given(RECORDS, RECORDS, st.sampled_from(["landmark", "size", "time"]))
def test_reverting_a_batch_undoes_its_update(first: list[Any], second: list[Any], kind: str) -> None:
    extents: dict[str, dict[str, Any]] = {
        "landmark": {},
        "size": {"size": 100},
        "time": {"duration": 1000, "time": "p", "late": "add"},
    }
    window = Window(["a"], "s", **extents[kind]).update(table(first))
    before = window.counts()
    window.update(table(second))
    assert window.records == len(first) + len(second)
    assert window.revert(table(second)).counts() == before


def test_only_records_that_the_window_holds_can_be_reverted() -> None:
    window = Window("a", "s", size=2).update(table([(1, "x", "flu", 1), (2, "x", "flu", 1), (3, "x", "flu", 1)]))
    before = window.counts()
    with pytest.raises(CountsError, match="does not hold 1 of the 1"):
        window.revert(table([(1, "x", "flu", 1)]))
    with pytest.raises(CountsError, match="does not hold 1 of the 1"):
        window.revert(table([(77, "x", "flu", 1)]))
    assert window.counts() == before


def test_the_latest_of_equal_records_is_reverted() -> None:
    one, other = (1, "x", "flu", 1), (2, "x", "cold", 1)
    window = Window("a", "s", size=3).update(table([one, other, one]))
    window.revert(table([one]))
    window.update(table([other, other]))  # the first record is the oldest and leaves
    assert window.counts() == unveil.count(table([other, other, other]), ["a", "s"])


@given(RECORDS, st.lists(st.integers(0, 100), max_size=3), st.integers(1, 45), st.sampled_from([None, "s"]))
def test_with_persons_everyone_counts_once_in_a_combination(
    records: list[Any], places: list[int], size: int, sensitive: str | None
) -> None:
    window = Window(["a"], sensitive, size=size, person="p")
    for batch in cut(records, places):
        window.update(table(batch))
    last = table(records[-size:])
    distinct = last.unique(["a", "p"] if sensitive is None else ["a", "s", "p"])
    persons = last.group_by("a").agg(pl.col("p").n_unique())["p"]
    assert window.k == persons.min()
    assert window.uniques == (persons == 1).sum()
    try:
        expected = unveil.discrimination_rate(distinct, "a", sensitive or "p").value
    except UndefinedMeasureError:
        expected = None
    assert window.figures().dr == expected


PARTITIONS: list[Any] = [
    {"a": [0, 2, 30, 50]},
    {"a": {"blocks": [[40, 3], [1], [2]]}, "b": {"mapping": {"x": "q", "y": "q", "é": "r"}}},
    {"b": lambda value: "late" if value > "x" else "early"},
    {"s": [["hiv"], ["flu", "cold"]]},
]


@given(RECORDS, st.lists(st.integers(0, 100), max_size=3), st.integers(1, 45), st.sampled_from(PARTITIONS))
def test_partitions_are_those_of_a_table(records: list[Any], places: list[int], size: int, partitions: Any) -> None:
    window = Window(["a", "b"], "s", size=size, partitions=partitions)
    for batch in cut(records, places):
        window.update(table(batch))
    try:
        expected = unveil.discrimination_rate(table(records[-size:]), ["a", "b"], "s", partitions=partitions).value
    except UndefinedMeasureError:
        expected = None
    assert window.figures().dr == expected


def test_a_need_may_see_a_column_in_other_blocks_than_the_key() -> None:
    records = table([(1, "x", "flu", 1), (2, "x", "cold", 1), (3, "y", "flu", 2), (40, "y", "hiv", 3)])
    need = unveil.Need("cure", target="s", given="a", partitions={"a": [0, 30, 50]})
    window = Window("a", "s", needs=need, partitions={"a": [0, 2, 50]}).update(records)
    assert window.rate == unveil.discrimination_rate(records, "a", "s", partitions={"a": [0, 2, 50]}).value
    assert window.needs["cure"].degree == unveil.discrimination_rate(records, "a", "s", partitions={"a": [0, 30, 50]}).value


# Time -----------------------------------------------------------------------------------------------------------------


def by_hand(times: list[int], duration: int, every: int, lateness: int, late: str) -> list[tuple[int, list[int]]]:
    """Return what each window by time holds, from the definition: records come one by one, figures are due step by step."""
    held: list[int] = []
    watermark = times[0] - lateness
    end, figures, silent = watermark // every * every, [], True
    for at, time in enumerate(times):
        if time >= watermark // every * every or (late == "add" and time >= end - duration) or at == 0:
            held.append(at)
        watermark = max(watermark, time - lateness)
        while end + every <= watermark:
            end = end + every
            inside = [one for one in held if end - duration <= times[one] < end]
            if inside or not silent:
                figures.append((end, inside))
            silent = not inside
    return figures


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 3), st.sampled_from(["flu", "cold"])), min_size=1, max_size=25),
    st.lists(st.integers(0, 100), max_size=4),
    st.integers(1, 30),
    st.integers(1, 12),
    st.integers(0, 15),
    st.sampled_from(["drop", "add"]),
)
def test_windows_by_time_hold_what_they_should_however_the_stream_is_cut(
    records: list[tuple[int, int, str]], places: list[int], duration: int, every: int, lateness: int, late: Any
) -> None:
    window = Window("a", "s", duration=duration, every=every, time="t", lateness=lateness, late=late)
    figures = []
    for batch in cut(records, places):
        frame = pl.DataFrame(batch, schema={"t": pl.Int64, "a": pl.Int64, "s": pl.String}, orient="row")
        figures += list(window.feed(frame))
    expected = by_hand([time for time, _, _ in records], duration, every, lateness, late)
    assert [one.records for one in figures] == [len(inside) for _, inside in expected]
    for one, (end, inside) in zip(figures, expected, strict=True):
        assert one.to == datetime.fromtimestamp(end, UTC).isoformat()
        if inside:
            held = pl.DataFrame([records[at][1:] for at in inside], schema={"a": pl.Int64, "s": pl.String}, orient="row")
            assert one.k == held.group_by("a").len()["len"].min()
            try:
                rate = unveil.discrimination_rate(held, "a", "s").value
            except UndefinedMeasureError:
                rate = None
            assert one.dr == rate


def test_late_records_are_counted_and_left_out_or_added() -> None:
    def fed(late: Any) -> Window:
        window = Window("a", duration=10, time="t", lateness=2, late=late)
        return window.update(pl.DataFrame({"t": [100, 101, 105, 98, 103, 104], "a": [1, 1, 2, 3, 4, 5]}))

    assert fed("drop").late == 1
    assert fed("drop").records == 3  # 100, 101 and 103: the window ends two seconds before the latest record
    assert fed("add").late == 1
    assert fed("add").records == 4


def test_times_are_read_as_people_write_them() -> None:
    texts = ["2026-03-01", "2026-03-01 00:00", "2026-03-01T00:00:00.0Z", "2026-03-01T01:00:00+01:00", "2026-02-28T19:00-0500"]
    for text in texts:
        window = Window("a", duration="1h", time="t").update(pl.DataFrame({"t": [text], "a": [1]}))
        assert window.figures().to == "2026-03-01T00:00:00.000001+00:00", text
    with pytest.raises(ArgumentError, match="1 of 1 records have no readable time"):
        Window("a", duration="1h", time="t").update(pl.DataFrame({"t": ["tomorrow"], "a": [1]}))


def test_a_landmark_window_by_time_gives_figures_at_every_step() -> None:
    window = Window("a", time="t", every=10)
    frame = pl.DataFrame({"t": [1, 5, 12, 31], "a": [1, 2, 2, 1]})
    assert [(one.records, one.start) for one in window.feed(frame)] == [(2, None), (3, None), (3, None)]
    last = window.finish()
    assert last is not None
    assert last.records == 4


def test_a_long_silence_costs_one_figure() -> None:
    window = Window("a", duration=10, time="t", every=1)
    frame = pl.DataFrame({"t": [0, 10**9], "a": [1, 1]})
    assert [one.records for one in window.feed(frame)] == [1] * 10 + [0]


# Examples and bounds --------------------------------------------------------------------------------------------------


def test_one_request_alone_identifies_and_k_alike_do_not() -> None:
    """The anonymity set of a location service: all who send a request from one place in one period."""
    derived: dict[str, Any] = {"place": GridCell("lat", "lon", 12), "period": Hours("when", 1)}
    alone = pl.DataFrame({"lat": [48.85, 45.76], "lon": [2.35, 4.83], "when": ["2026-03-01T10:05:00Z"] * 2})
    window = Window(["place", "period"], derived=derived, size=5).update(alone)
    assert (window.rate, window.kind, window.k) == (1.0, "identifier", 1)
    together = pl.DataFrame({"lat": [48.8501] * 5, "lon": [2.3501] * 5, "when": ["2026-03-01T10:25:00Z"] * 5})
    window.update(together)
    assert (window.rate, window.kind, window.k) == (0.0, "zero-identifier", 5)


def test_memory_follows_the_window_not_the_stream() -> None:
    window = Window("a", "s", size=100)
    for start in range(0, 400_000, 40_000):
        numbers = np.arange(start, start + 40_000)
        window.update(pl.DataFrame({"a": numbers, "s": numbers % 7}))
    counts = window._expiry.counts  # noqa: SLF001
    assert len(counts._dictionaries[counts.names.index("a")].values) < 150_000  # noqa: SLF001
    assert len(counts._rows) < 150_000  # noqa: SLF001
    assert window.k == 1
    assert window.uniques == 100


def test_forgetting_changes_no_figure() -> None:
    rng = np.random.default_rng(3)
    stream = pl.DataFrame({"a": rng.integers(0, 50, 150_000) + np.arange(150_000) // 10, "s": rng.integers(0, 3, 150_000)})
    window = Window("a", "s", size=777)
    timed = Window("a", "s", duration=777, time="t")
    for start in range(0, 150_000, 30_000):
        window.update(stream[start : start + 30_000])
        timed.update(stream[start : start + 30_000].with_columns(t=pl.int_range(start, start + 30_000)))
    expected = unveil.discrimination_rate(stream[-777:], "a", "s").value
    assert window.rate == expected
    assert timed.rate == expected


@given(RECORDS, st.lists(st.integers(0, 30), min_size=40, max_size=40), st.lists(st.integers(0, 100), max_size=3))
def test_several_partitions_by_time_are_those_of_a_table(records: list[Any], times: list[int], places: list[int]) -> None:
    """The last ten seconds, in whatever order records came, with two key columns and the sensitive one in blocks."""
    blocks = {
        "a": [[1, 2], [3, 40], [None]],
        "b": [["x", "y"], ["é", None]],
        "s": [["flu", "cold"], ["hiv"]],
    }
    came = table(records).with_columns(t=pl.Series(times[: len(records)]))
    window = Window(["a", "b"], "s", duration="10s", time="t", lateness="40s", partitions=blocks)
    for batch in cut(list(range(came.height)), places):
        window.update(came[batch])
    window.finish()
    held = came.filter(pl.col("t") > max(times[: len(records)]) - 10)
    try:
        expected = unveil.discrimination_rate(held, ["a", "b"], "s", partitions=blocks)
    except UndefinedMeasureError:
        with pytest.raises(UndefinedMeasureError):
            _ = window.rate
    else:
        assert (window.rate, window.kind, window.records) == (expected.value, expected.kind, held.height)
        assert window.counts() == unveil.count(held, ["a", "b", "s"], partitions=blocks)
        assert window.k == unveil.count(held, ["a", "b", "s"], partitions=blocks).over(["a", "b"]).n.min()


def test_moving_counts_take_counted_batches() -> None:
    counts = MovingCounts(["a"])
    codes = counts.coded([encode_values(["x", "y"])])
    counts.add_counted(codes, np.array([5, 2]))
    counts.add_counted(codes[:1], np.array([-5]))
    assert counts.table().to_dict()["cells"] == [{"a": "y", "n": 2}]


def test_true_and_one_are_two_values() -> None:
    window = Window("a").update(pl.DataFrame({"a": [True, False]})).update(pl.DataFrame({"a": [1, 0]}))
    assert window.uniques == 4


@pytest.mark.parametrize("extent", [{"size": 10}, {"duration": 10, "time": "t"}, {}])
def test_a_column_that_becomes_text_is_text_throughout(extent: dict[str, Any]) -> None:
    window = Window("a", **extent).update(pl.DataFrame({"a": [1, 2, 2], "t": [1, 1, 1]}))
    window.update(pl.DataFrame({"a": ["1", "x"], "t": [1, 1]}))
    window.update(pl.DataFrame({"a": [2, None], "t": [1, 1]}))
    mixed = pl.DataFrame({"a": ["1", "2", "2", "1", "x", "2", None]})
    assert window.rate == unveil.discrimination_rate(mixed, "a").value
    assert window.counts() == unveil.count(mixed, ["a"])


@pytest.mark.parametrize("nulls", ["drop", "error"])
def test_nulls_are_a_policy(nulls: str) -> None:
    window = Window("a", "s", nulls=nulls)
    records = table([(1, "x", "flu", 1), (None, "x", "flu", 1)])
    if nulls == "error":
        with pytest.raises(NullsError, match="'a'"):
            window.update(records)
        assert window.records == 0
    else:
        assert window.update(records).records == 1
        assert window.counters["dropped"] == 1


def test_what_makes_no_window_is_refused() -> None:
    with pytest.raises(ArgumentError, match="one of them"):
        Window("a", size=5, duration="1h", time="t")
    with pytest.raises(ArgumentError, match="time="):
        Window("a", duration="1h")
    with pytest.raises(ArgumentError, match="500ms, 10s"):
        Window("a", duration="an hour", time="t")
    with pytest.raises(ArgumentError, match="requires the records' own times"):
        Window("a", size=5, every="1m")
    with pytest.raises(ArgumentError, match="neither key nor sensitive"):
        Window("a", person="a")
    with pytest.raises(ArgumentError, match="every="):
        next(Window("a").feed(pl.DataFrame({"a": [1]})))
    with pytest.raises(PartitionError, match="1 records of the batch"):
        Window("a", partitions={"a": [[1], [2]]}).update(pl.DataFrame({"a": [1, 2, 3]}))
    with pytest.raises(CountsError, match="no records"):
        Window("a").counts()


def test_a_window_that_is_not_strict_counts_what_it_leaves_out() -> None:
    window = Window("a", partitions={"a": [[1], [2]]}, strict=False).update(pl.DataFrame({"a": [1, 2, 3]}))
    assert window.records == 2
    assert window.counters["outside"] == 1


def test_a_state_that_is_put_back_goes_on_alike() -> None:
    def made() -> Window:
        return Window(["a"], "s", duration=20, time="t", every=5, lateness=3, partitions={"s": [["flu"], ["cold", "hiv"]]})

    rng = np.random.default_rng(1)
    stream = pl.DataFrame(
        {
            "t": np.arange(200) + rng.integers(0, 3, 200),
            "a": rng.integers(0, 9, 200),
            "s": rng.choice(["flu", "cold", "hiv"], 200),
        }
    )
    whole = made()
    expected = [one.to_dict() for one in whole.feed(stream)]
    first, second = made(), made()
    figures = list(first.feed(stream[:90]))
    second.restore(*first.state())
    figures += list(second.feed(stream[90:]))
    assert [one.to_dict() for one in figures] == expected


@pytest.mark.parametrize("duration", [-(10**400), 10**400, -1])
def test_durations_beyond_all_bounds_are_refused(duration: int) -> None:
    with pytest.raises(ArgumentError, match="a duration from 0 to 100 years"):
        duration_of("lateness", duration)


def test_records_in_no_block_are_left_out_beside_others_in_blocks() -> None:
    records = pl.DataFrame({"a": [-5, 3, 7, 20], "b": list("xyxy")})
    window = Window(["a", "b"], size=4, every=2, partitions={"a": [0, 10, 100]}, strict=False)
    figures = [*window.feed(records)]
    last = window.finish()
    assert [one.records for one in (*figures, *([last] if last else []))][-1] == 3


def test_times_are_read_whatever_their_column_is_called() -> None:
    hours = [moments_of(pl.Series(name, ["2024-01-01T10:00:00", "x"])).tolist() for name in ("when", "^a.*$")]
    assert hours[0] == hours[1]
