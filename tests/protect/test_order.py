"""The order of a release: drawn, so that nobody can put the records back, unless they hold the key or a seed was typed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import unveil
from helpers import limited
from unveil.errors import ArgumentError
from unveil.models import KAnonymity
from unveil.randomness import NOT_FOR_PUBLICATION, chance_of
from unveil.sources import open_source
from unveil.sources.batches import rewriting

RECORDS = 600
PEOPLE = pl.DataFrame(
    {
        "age": [20 + at % 30 for at in range(RECORDS)],
        "sex": ["f" if at % 3 else "m" for at in range(RECORDS)],
        "job": ["a" if at % 2 else "b" for at in range(RECORDS)],
        "row": range(RECORDS),
    }
)
KEYS, MODELS = ["age", "sex"], [KAnonymity(5)]
NEED = unveil.Need("use", target="job", given="age")


def front(data: Any, **options: Any) -> Any:
    return unveil.anonymize_front(data, KEYS, NEED, sensitive="job", models=MODELS, **options).chosen


def vouched(way: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the column that tells where a record stood, which no release has otherwise."""
    return lambda data, **options: way(unveil.Study(data, keep="row"), **options)


_WAYS: dict[str, Callable[..., Any]] = {
    "anonymize": lambda data, **options: unveil.anonymize(data, KEYS, MODELS, **options),
    "mondrian": lambda data, **options: unveil.mondrian(data, KEYS, MODELS, **options),
    "recode_locally": lambda data, **options: unveil.recode_locally(data, KEYS, MODELS, **options),
    "generalize_subtrees": lambda data, **options: unveil.generalize_subtrees(data, KEYS, MODELS, **options),
    "suppress_locally": lambda data, **options: unveil.suppress_locally(data, KEYS, 5, **options),
    "anonymize_front": front,
}
WAYS = {name: vouched(way) for name, way in _WAYS.items()}
every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    place = tmp_path / "steward.key"
    place.write_bytes(b"a secret of 32 bytes, or longer.")
    return place


def order(release: Any) -> list[int]:
    """Return the original rows in the order of the release."""
    data = release.data
    return (data.collect() if isinstance(data, pl.LazyFrame) else data)["row"].cast(pl.Int64).to_list()


def is_no_trace(rows: list[int]) -> bool:
    """Whether places say nothing of the original ones."""
    return bool(abs(stats.spearmanr(rows, range(len(rows))).statistic) < 5 / np.sqrt(len(rows)))


@every_way
def test_two_releases_of_one_table_have_orders_of_their_own(way: str) -> None:
    releases = [WAYS[way](PEOPLE) for _ in range(2)]
    rows = [order(release) for release in releases]
    assert all(sorted(some) == list(range(RECORDS)) and is_no_trace(some) for some in rows)
    assert is_no_trace(np.argsort(rows[0])[rows[1]].tolist())
    for release, some in zip(releases, rows, strict=True):
        assert release.origin.tolist() == some
        assert release.repeatable is release.to_dict()["repeatable"] is False
        assert NOT_FOR_PUBLICATION not in release.notes


@every_way
def test_no_seed_that_an_intruder_tries_gives_the_order(way: str) -> None:
    release = order(WAYS[way](PEOPLE))
    for seed in range(50):
        assert order_by(chance_of(seed=seed).draws("row order").permutation(RECORDS), release) != sorted(release)


def order_by(guess: np.ndarray[Any, Any], release: list[int]) -> list[int]:
    """Put a release back into the order from which a permutation would have made it."""
    back = np.empty(len(release), dtype=np.int64)
    back[guess] = release
    return back.tolist()


@every_way
def test_a_seed_repeats_a_release_and_marks_it(way: str) -> None:
    one, again, other = (WAYS[way](PEOPLE, seed=seed) for seed in (1, 1, 2))
    assert order(one) == order(again) != order(other)
    guess = chance_of(seed=1).draws("row order").permutation(RECORDS)
    assert order_by(guess, order(one)) == list(range(RECORDS)), "the attack that fails without a seed works with it"
    assert one.repeatable == one.to_dict()["repeatable"] == "seed"
    assert one.notes[-1] == NOT_FOR_PUBLICATION
    assert repr(one).endswith("; repeatable)")
    assert "not for publication" in one._repr_html_()
    assert "seed" not in one.to_dict()["settings"]


@every_way
def test_a_key_file_repeats_a_release_of_the_same_data_only(way: str, key: Path, tmp_path: Path) -> None:
    one, again = (WAYS[way](PEOPLE, key_file=key) for _ in range(2))
    changed = PEOPLE.with_columns(row=pl.col("row").replace({0: RECORDS}))
    other = WAYS[way](changed, key_file=key)
    assert order(one) == order(again)
    assert is_no_trace(np.argsort(order(one))[other.origin].tolist())
    stolen = tmp_path / "another.key"
    stolen.write_bytes(b"another secret of 32 bytes here.")
    assert order(WAYS[way](PEOPLE, key_file=stolen)) != order(one)
    assert one.repeatable == "key"
    assert NOT_FOR_PUBLICATION not in one.notes
    assert str(key) not in json.dumps(one.to_dict())
    assert key.read_text() not in json.dumps(one.to_dict())


def test_a_key_file_gives_releases_of_other_settings_other_orders(key: Path) -> None:
    """Else records of two releases could be joined by their places."""
    releases = [unveil.anonymize(PEOPLE, KEYS, [KAnonymity(k)], key_file=key, keep="row") for k in (5, 40)]
    assert is_no_trace(np.argsort(order(releases[0]))[order(releases[1])].tolist())


@every_way
def test_records_that_keep_their_order_are_repeatable_only_where_a_seed_says_so(way: str, key: Path) -> None:
    given: list[tuple[dict[str, Any], Any]] = [({}, False), ({"key_file": key}, False), ({"seed": 0}, "seed")]
    for options, expected in given:
        release = WAYS[way](PEOPLE, keep_order=True, **options)
        assert order(release) == list(range(RECORDS))
        assert release.repeatable == expected


@every_way
def test_bad_seeds_and_two_sources_of_chance_are_refused(way: str, key: Path) -> None:
    for seed in (-1, 1.5, True, 2**63):
        with pytest.raises(ArgumentError, match=r"^seed (is|must be) "):
            WAYS[way](PEOPLE, seed=seed)
    with pytest.raises(ArgumentError, match="a seed and a key file are both given"):
        WAYS[way](PEOPLE, seed=1, key_file=key)


def test_a_front_makes_a_release_the_same_way_every_time_it_is_asked() -> None:
    """So that a release and its correspondence, asked for one after the other, fit together."""
    fronts = [
        unveil.anonymize_front(unveil.Study(PEOPLE, keep="row"), KEYS, NEED, sensitive="job", models=MODELS) for _ in range(2)
    ]
    assert order(fronts[0].chosen) == order(fronts[0].chosen) == fronts[0].chosen.origin.tolist()
    assert order(fronts[0].chosen) != order(fronts[1].chosen)
    assert order(fronts[0].release(0)) != order(fronts[0].release(len(fronts[0]) - 1)) or len(fronts[0]) == 1
    assert fronts[0].to_dict()["repeatable"] is False
    seeded = unveil.anonymize_front(PEOPLE, KEYS, NEED, sensitive="job", models=MODELS, seed=1)
    assert seeded.to_dict()["repeatable"] == "seed"
    assert NOT_FOR_PUBLICATION in seeded.notes


# Streams


@pytest.fixture
def streamed() -> Any:
    """Stream everything, in small batches and several buckets."""
    with limited(stream_from=1, rows=70, text=500, bucket=90):
        yield


def written(folder: Path, form: str, people: pl.DataFrame = PEOPLE) -> str:
    place = folder / f"people.{form}"
    if form == "parts":
        for part in ("year=1", "year=2"):
            (place / part).mkdir(parents=True)
        people[: RECORDS // 2].write_parquet(place / "year=1" / "0.parquet")
        people[RECORDS // 2 :].write_parquet(place / "year=2" / "0.parquet")
    elif form == "csv":
        people.write_csv(place)
    else:
        people.write_parquet(place)
    return str(place)


def into(place: str, out: Path, **options: Any) -> Any:
    return unveil.anonymize(place, KEYS, MODELS, out=out, keep="row", **options)


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("form", ["parquet", "csv", "parts"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_two_streams_of_one_file_have_orders_of_their_own(form: str, ending: str, tmp_path: Path) -> None:
    place = written(tmp_path, form)
    releases = [into(place, tmp_path / f"{at}.{ending}") for at in range(2)]
    rows = [order(release) for release in releases]
    assert all(sorted(some) == list(range(RECORDS)) and is_no_trace(some) for some in rows)
    assert is_no_trace(np.argsort(rows[0])[rows[1]].tolist())
    assert all(release.repeatable is False for release in releases)


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("form", ["parquet", "csv", "parts"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_key_file_repeats_a_stream_to_the_byte(form: str, ending: str, tmp_path: Path, key: Path) -> None:
    place, out = written(tmp_path, form), tmp_path / f"release.{ending}"
    contents = []
    for _ in range(2):
        release = into(place, out, key_file=key)
        contents.append(out.read_bytes())
        before = order(release)
    assert contents[0] == contents[1]
    assert release.repeatable == "key"
    assert str(key) not in json.dumps(release.to_dict())
    (changed := tmp_path / "changed").mkdir()
    again = into(written(changed, form, PEOPLE.with_columns(row=pl.col("row").replace({0: RECORDS}))), out, key_file=key)
    assert is_no_trace(np.argsort(before)[[row % RECORDS for row in order(again)]].tolist())


@pytest.mark.usefixtures("streamed")
def test_a_key_file_gives_streams_of_other_labels_other_orders(tmp_path: Path, key: Path) -> None:
    """Hierarchies that group alike and are named otherwise: else records of both releases could be joined by their places."""
    place, rows = written(tmp_path, "parquet"), []
    for name in ("young", "early"):
        tree = unveil.Hierarchy.from_levels([str(20 + at) for at in range(30)], [name] * 30)
        release = unveil.anonymize(place, {"age": tree}, [KAnonymity(25)], out=tmp_path / f"{name}.csv", key_file=key, keep="row")
        assert release.transformation == {"age": 1}
        rows.append(order(release))
    assert is_no_trace(np.argsort(rows[0])[rows[1]].tolist())


@pytest.mark.usefixtures("streamed")
def test_the_place_of_a_file_in_its_folder_counts(tmp_path: Path, key: Path) -> None:
    """The name of a folder holds values: files that change places are other data."""
    place, rows = written(tmp_path, "parts"), []
    for _ in range(2):
        rows.append(order(into(place, tmp_path / "r.csv", key_file=key)))
        for new, old in (("year=3", "year=1"), ("year=4", "year=2")):
            if (Path(place) / old).exists():
                (Path(place) / old).rename(Path(place) / new)
    assert rows[0] != rows[1]


@pytest.mark.usefixtures("streamed")
def test_a_stream_that_nobody_writes_or_that_keeps_its_order_draws_nothing(tmp_path: Path, key: Path) -> None:
    place = written(tmp_path, "csv")
    assert unveil.anonymize(place, KEYS, MODELS, dry_run=True, key_file=key).repeatable is False
    kept = into(place, tmp_path / "kept.csv", keep_order=True, key_file=key)
    assert (order(kept), kept.repeatable) == (list(range(RECORDS)), False)
    assert unveil.anonymize(place, KEYS, MODELS, dry_run=True, seed=1).repeatable == "seed"


def test_every_order_of_a_stream_is_as_likely_as_any_other(tmp_path: Path) -> None:
    """Three records in three buckets of which two may fall together: each of six orders, 240 times in all."""
    place, found = tmp_path / "three.parquet", Counter[tuple[int, ...]]()
    pl.DataFrame({"row": [0, 1, 2]}).write_parquet(place)

    class Unchanged:
        def begin(self) -> None: ...

        def batch(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Any]:
            return frame, np.arange(frame.height)

        def end(self) -> None: ...

    with limited(stream_from=1, rows=2, bucket=1):
        records = rewriting.BatchedRecords(open_source(str(place)), ("row",), 3)  # type: ignore[arg-type]
        draws = chance_of(seed=3).draws("row order")
        for _ in range(240):
            out = str(tmp_path / "out.csv")
            assert rewriting.rewrite(records, Unchanged(), out, order=draws) == 3
            found[tuple(pl.read_csv(out)["row"].to_list())] += 1
    assert len(found) == 6
    assert stats.chisquare(list(found.values())).pvalue > 0.001


def test_counts_of_a_release_do_not_give_its_order(tmp_path: Path) -> None:
    """An order that follows from public settings and the counts, which an unchanged release shows, could be drawn again."""
    unchanged = PEOPLE.with_columns(age=pl.lit(30))
    with limited(stream_from=1):
        place = written(tmp_path, "parquet", unchanged)
        release = unveil.anonymize(place, KEYS, [KAnonymity(1)], out=tmp_path / "r.parquet", keep="row")
        counts = unveil.count(tmp_path / "r.parquet", KEYS)
    whole = hashlib.sha256()
    for codes in (*counts.codes, counts.n):
        whole.update(np.ascontiguousarray(codes).tobytes())
    guess = np.random.default_rng([0, int.from_bytes(whole.digest())]).permutation(RECORDS)
    back = order_by(guess, order(release))
    assert is_no_trace(back)
    assert sum(at == row for at, row in enumerate(back)) < 20
