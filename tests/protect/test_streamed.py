"""Files that are counted and rewritten as they stream."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import unveil
from helpers import limited
from unveil.cli import run
from unveil.errors import (
    ArgumentError,
    ColumnNotFoundError,
    DataChangedError,
    ModelNotMetError,
    OutputError,
    UnsupportedDataError,
)
from unveil.models import KAnonymity, TCloseness
from unveil.sources.batches import rewriting

KEYS = ["age", "education", "sex"]
ADULT = (
    unveil.datasets.adult()
    .head(4000)
    .with_columns(
        age=pl.when(pl.int_range(4000) % 97 == 0).then(None).otherwise(pl.col("age")),
        row=pl.int_range(4000),
        wage=pl.col("fnlwgt") / 7,
    )
)


@pytest.fixture
def small() -> Any:
    """Stream everything, in small batches and several buckets."""
    with limited(stream_from=1, rows=300, text=20_000, bucket=700):
        yield


def written(folder: Path, form: str) -> str:
    if form == "folder":
        for at in range(3):
            (folder / "parts").mkdir(exist_ok=True)
            ADULT[at * 1400 : (at + 1) * 1400].write_parquet(folder / "parts" / f"{at}.parquet")
        return str(folder / "parts")
    place = folder / f"people.{form}"
    ADULT.write_parquet(place) if form == "parquet" else ADULT.write_csv(place)
    return str(place)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["parquet", "csv", "folder"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv"])
def test_the_release_is_that_of_the_table_in_memory(tmp_path: Path, form: str, ending: str) -> None:
    models = [KAnonymity(5), TCloseness("occupation", 0.6)]
    options: dict[str, Any] = {"suppression": 0.05, "keep_order": True, "identifiers": "fnlwgt"}
    whole = unveil.anonymize(ADULT, KEYS, models, **options)
    out = tmp_path / f"release.{ending}"
    streamed = unveil.anonymize(written(tmp_path, form), KEYS, models, out=out, **options)
    assert streamed.transformation == whole.transformation
    assert (streamed.score, streamed.suppressed, streamed.optimal) == (whole.score, whole.suppressed, whole.optimal)
    assert streamed.to_dict()["models"] == whole.to_dict()["models"]
    texts = streamed.data.collect().cast(pl.String)
    expected = whole.data.cast(pl.String)
    assert texts.columns == expected.columns
    assert texts.rows() == expected.rows()
    assert not list(tmp_path.glob(".unveil-*"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_records_are_shuffled_and_the_correspondence_undoes_it(tmp_path: Path, ending: str) -> None:
    place, link = written(tmp_path, "parquet"), tmp_path / "link.csv"
    orders = []
    for seed in (1, 1, 2):
        out = tmp_path / f"release.{ending}"
        unveil.anonymize(place, KEYS, [KAnonymity(5)], out=out, suppression=0.1, link=link, seed=seed, keep="row")
        release = pl.read_parquet(out) if ending == "parquet" else pl.read_csv(out)
        pairs = pl.read_csv(link)
        assert pairs["release"].to_list() == list(range(1, 4001))
        assert (pairs["original"] - 1).to_list() == release["row"].to_list()
        assert sorted(release["row"].to_list()) == list(range(4000))
        orders.append(release["row"].to_list())
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != list(range(4000))


@pytest.mark.usefixtures("small")
def test_records_with_nulls_are_left_out_when_asked(tmp_path: Path) -> None:
    place, link = written(tmp_path, "csv"), tmp_path / "link.csv"
    release = unveil.anonymize(
        place, KEYS, [KAnonymity(5)], out=tmp_path / "r.csv", suppression=0.1, nulls="drop", keep_order=True, link=link
    )
    complete = ADULT.filter(pl.col("age").is_not_null())
    assert release.records.records == complete.height
    assert (pl.read_csv(link)["original"] - 1).to_list() == complete["row"].to_list()


@pytest.mark.usefixtures("small")
def test_quotes_and_line_breaks_inside_fields_survive(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2] * 50, "said": ['a "quoted" word', "two\nlines", "comma, here", "plain"] * 50})
    frame.write_csv(tmp_path / "odd.csv")
    out = tmp_path / "r.csv"
    unveil.anonymize(str(tmp_path / "odd.csv"), ["age"], [KAnonymity(2)], out=out, keep_order=True)
    assert pl.read_csv(out)["said"].to_list() == frame["said"].to_list()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_columns_are_judged_by_the_records_that_stay(tmp_path: Path, form: str) -> None:
    """Of the records without a null, every one has a number of its own; with the others, each number occurs twice."""
    numbers = [f"{1000 + at * 7}" for at in range(200)]
    frame = pl.DataFrame({"age": [20, 30] * 200, "town": ["a"] * 200 + [None] * 200, "number": numbers * 2})
    place = tmp_path / f"people.{form}"
    if form == "duckdb":
        with duckdb.connect(place) as connection:
            connection.sql("CREATE TABLE people AS SELECT * FROM frame")
    else:
        frame.write_parquet(place) if form == "parquet" else frame.write_csv(place)
    data = f"{place}?table=people" if form == "duckdb" else str(place)
    release = unveil.anonymize(data, ["age", "town"], [KAnonymity(3)], out=tmp_path / "release.csv", nulls="drop")
    assert set(release.left_out) == {"number"}
    assert pl.read_csv(tmp_path / "release.csv").columns == ["age", "town"]
    kept = unveil.anonymize(data, ["age", "town"], [KAnonymity(3)], out=tmp_path / "kept.csv", nulls="drop", keep="number")
    assert [(one.column, one.unique, one.of) for one in kept.unmeasured] == [("number", 200, 200)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("data", [ADULT, "parquet", "csv"], ids=["frame", "parquet", "csv"])
def test_a_dry_run_writes_nothing(tmp_path: Path, data: Any) -> None:
    place = data if isinstance(data, pl.DataFrame) else written(tmp_path, data)
    out = tmp_path / "release.csv"
    out.write_text("older")
    before = set(tmp_path.iterdir())
    options: dict[str, Any] = {"suppression": 0.1, "identifiers": "fnlwgt"}
    release = unveil.anonymize(place, KEYS, [KAnonymity(5)], out=out, link=tmp_path / "link.csv", dry_run=True, **options)
    assert release.transformation == unveil.anonymize(place, KEYS, [KAnonymity(5)], **options).transformation
    assert (set(tmp_path.iterdir()), out.read_text()) == (before, "older")


def test_options_of_a_file_are_refused_without_one() -> None:
    with pytest.raises(ArgumentError, match="no release is written"):
        unveil.anonymize(ADULT, KEYS, [KAnonymity(5)], spreadsheet_safe=True)
    with pytest.raises(ArgumentError, match="not in an engine, so the release goes into a file"):
        unveil.anonymize(ADULT, KEYS, [KAnonymity(5)], out="new.duckdb?table=people")


@pytest.mark.usefixtures("small")
def test_nothing_is_left_behind_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, out = written(tmp_path, "parquet"), tmp_path / "release.csv"
    out.write_text("older")
    with pytest.raises(ModelNotMetError):
        unveil.anonymize(place, KEYS, [KAnonymity(9999)], out=out)
    before = set(tmp_path.iterdir())

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_csv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        unveil.anonymize(place, KEYS, [KAnonymity(5)], out=out, suppression=0.1)
    assert set(tmp_path.iterdir()) == before
    assert out.read_text() == "older"


@pytest.mark.usefixtures("small")
def test_the_command_streams_large_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, out, link = written(tmp_path, "parquet"), tmp_path / "release.parquet", tmp_path / "link.csv"
    words = [part for key in KEYS for part in ("--key", key)]
    command = ["anonymize", place, *words, "--k", "5", "--suppression", "0.1", "--out", str(out), "--link", str(link), "--json"]
    assert run(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["models"]["k_anonymity"]["met"]
    assert link.stat().st_mode & 0o077 == 0
    assert run(["measure", str(out), *words, "--k", "5"]) == 0
    assert run(["attack", place, str(out), *words, "--link", str(link), "--no-linkage"]) == 0


def test_what_does_not_stream_is_written_from_memory(tmp_path: Path) -> None:
    options: dict[str, Any] = {"suppression": 0.1, "spreadsheet_safe": True, "link": tmp_path / "link.csv"}
    release = unveil.anonymize(ADULT, KEYS, [KAnonymity(5)], out=tmp_path / "r.csv", **options)
    assert pl.read_csv(tmp_path / "r.csv", infer_schema=False).equals(release.data.cast(pl.String))
    assert pl.read_csv(tmp_path / "link.csv")["original"].to_list() == (release.origin + 1).tolist()
    assert (tmp_path / "r.csv.unveil.json").exists()


def test_a_table_of_an_engine_takes_no_records_from_here(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="goes into a file"):
        unveil.anonymize(ADULT, KEYS, [KAnonymity(5)], out=f"{tmp_path}/r.duckdb?table=r")


def test_the_data_is_not_written_over(tmp_path: Path) -> None:
    place = tmp_path / "adult.csv"
    ADULT.write_csv(place)
    with pytest.raises(ArgumentError, match=r"different files|is read by this call"):
        unveil.anonymize(place, KEYS, [KAnonymity(5)], out=place)
    assert pl.read_csv(place).height == ADULT.height


@pytest.mark.usefixtures("small")
def test_an_ending_that_cannot_stream_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="Parquet or as text"):
        unveil.anonymize(written(tmp_path, "parquet"), KEYS, [KAnonymity(5)], out=tmp_path / "r.arrow")


@pytest.mark.usefixtures("small")
def test_without_a_place_no_record_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = written(tmp_path, "parquet")
    whole = unveil.anonymize(ADULT, KEYS, [KAnonymity(5)], suppression=0.1)

    def records(*_: object) -> None:
        raise AssertionError("records were asked for")

    monkeypatch.setattr(rewriting.BatchedRecords, "batches", records)
    monkeypatch.setattr("unveil.sources.batches.counting.Stream.collect", records)
    words = [part for key in KEYS for part in ("--key", key)]
    assert run(["anonymize", place, *words, "--k", "5", "--suppression", "0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["transformation"], found["suppressed"]) == (dict(whole.transformation), whole.suppressed)
    release = unveil.anonymize(place, KEYS, [KAnonymity(5)], dry_run=True, suppression=0.1)
    with pytest.raises(ArgumentError, match="not written"):
        release.write(tmp_path / "r.csv")
    assert run(["anonymize", place, *words, "--k", "5", "--link", str(tmp_path / "link.csv")]) == 2
    assert "no release is written" in capsys.readouterr().err


@pytest.mark.usefixtures("small")
def test_progress_is_told_for_every_stage(tmp_path: Path) -> None:
    told: dict[str, list[tuple[int, int]]] = {}
    place = written(tmp_path, "parquet")
    unveil.anonymize(place, KEYS, [KAnonymity(5)], out=tmp_path / "r.csv", suppression=0.1, only_roles=True, progress=lambda stage, done, total: told.setdefault(stage, []).append((done, total)))  # fmt: skip
    assert [stage for stage in told if stage != "generalisations"] == ["bytes counted", "records, read and written"]
    for steps in told.values():
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]
    assert told["bytes counted"][-1][1] > 0
    assert told["records, read and written"][-1] == (8000, 8000)
    assert len(told["records, read and written"]) > 10


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_column_names_that_are_patterns_elsewhere(tmp_path: Path, form: str, nulls: str) -> None:
    frame = pl.DataFrame([ADULT["age"].alias("^a.*$"), ADULT["wage"].alias("*"), ADULT["row"]])
    place, out = tmp_path / f"people.{form}", tmp_path / "release.parquet"
    frame.write_parquet(place) if form == "parquet" else frame.write_csv(place)
    options: dict[str, Any] = {"suppression": 0.1, "nulls": nulls, "keep_order": True, "levels": {"*": (1, 4)}}
    streamed = unveil.anonymize(str(place), ["^a.*$", "*"], [KAnonymity(3)], out=out, **options)
    whole = unveil.anonymize(frame, ["^a.*$", "*"], [KAnonymity(3)], **options)
    for name in whole.data.columns:
        assert streamed.records.column(name).cast(pl.String).to_list() == whole.data.get_column(name).cast(pl.String).to_list()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folder_names_that_are_patterns_elsewhere(tmp_path: Path, ending: str) -> None:
    for name in ("a*b", "[ab]", "a?b", "year=2020"):
        folder = tmp_path / name
        folder.mkdir()
        place, out = written(folder, "parquet"), folder / f"release.{ending}"
        release = unveil.anonymize(place, KEYS, [KAnonymity(5)], out=out, suppression=0.1, keep=["row", "fnlwgt", "wage"])
        assert sorted(release.data.collect()["row"].cast(pl.Int64).to_list()) == list(range(4000))
        assert release.data.collect().columns == ADULT.columns


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("named", ["age", "occupation"])
def test_an_identifier_is_no_key_and_not_sensitive(tmp_path: Path, named: str) -> None:
    with pytest.raises(ArgumentError, match=f"column '{named}' is named as identifier and as key or sensitive"):
        unveil.anonymize(
            written(tmp_path, "parquet"), KEYS, [TCloseness("occupation", 0.6)], out=tmp_path / "r.csv", identifiers=named
        )


@pytest.mark.usefixtures("small")
def test_data_release_and_correspondence_are_different_files(tmp_path: Path) -> None:
    place, out = written(tmp_path, "parquet"), tmp_path / "r.csv"
    before = Path(place).read_bytes()
    (tmp_path / "same.parquet").symlink_to(place)
    pairs: list[tuple[Path, Path | None]] = [
        (Path(place), None), (tmp_path / "same.parquet", None), (out, out), (out, Path(place))
    ]  # fmt: skip
    for release, link in pairs:
        with pytest.raises(ArgumentError, match=r"different files|is read by this call"):
            unveil.anonymize(place, KEYS, [KAnonymity(5)], out=release, suppression=0.1, link=link)
    with pytest.raises(OutputError, match="does not exist"):
        unveil.anonymize(place, KEYS, [KAnonymity(5)], out=out, link=tmp_path / "nowhere" / "link.csv")
    assert Path(place).read_bytes() == before
    assert not out.exists()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("room", [2_000, 10_000, 40_000])
def test_a_disk_that_takes_no_more_is_one_line(tmp_path: Path, ending: str, room: int) -> None:
    place, before = written(tmp_path, "csv"), resource.getrlimit(resource.RLIMIT_FSIZE)
    files = set(tmp_path.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(OutputError, match=f"cannot write '.*release.{ending}': "):
            unveil.anonymize(
                place, KEYS, [KAnonymity(5)], out=tmp_path / f"release.{ending}", suppression=0.1, keep=["row", "wage"]
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert set(tmp_path.iterdir()) == files


@pytest.mark.usefixtures("small")
def test_values_in_the_names_of_folders_keep_their_type(tmp_path: Path) -> None:
    for year in (2019, 2020):
        for town in ("01", "A"):
            part = tmp_path / "parts" / f"year={year}" / f"town={town}"
            part.mkdir(parents=True)
            ADULT.write_parquet(part / "0.parquet")
    release = unveil.anonymize(tmp_path / "parts", ["age", "year"], [KAnonymity(2)], out=tmp_path / "r.parquet", suppression=0)
    whole = unveil.anonymize(tmp_path / "parts", ["age", "year"], [KAnonymity(2)])
    assert release.data.collect_schema() == whole.data.schema
    assert release.data.collect_schema()["year"] == pl.Int64


@pytest.mark.usefixtures("small")
def test_records_on_their_way_make_room_as_they_are_written(tmp_path: Path) -> None:
    """With half of them written, half of their files are gone."""
    held: dict[int, int] = {}

    def look(stage: str, done: int, _: int) -> None:
        if stage == "records, read and written":
            held[done] = sum(file.stat().st_size for file in tmp_path.glob(".unveil-*/*.arrow"))

    unveil.anonymize(written(tmp_path, "csv"), KEYS, [KAnonymity(5)], out=tmp_path / "r.csv", suppression=0.1, progress=look)
    half = min(done for done in held if done > 6000)
    assert 0 < held[half] < 0.6 * max(held.values())
    assert held[8000] == 0
    assert max(held.values()) < (tmp_path / "r.csv").stat().st_size  # compressed: else twice as much


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("lost", ["age", "row"])
def test_a_file_that_lost_a_column_has_changed(tmp_path: Path, form: str, lost: str) -> None:
    place, out = written(tmp_path, form), tmp_path / "r.csv"

    def losing(candidate: Any) -> float:
        frame = ADULT.drop(lost)
        frame.write_parquet(place) if form == "parquet" else frame.write_csv(place)
        return float(candidate.suppressed)

    with pytest.raises(DataChangedError, match="the data changed between its count and its release"):
        unveil.anonymize(place, KEYS, [KAnonymity(5)], out=out, suppression=0.1, objective=losing, keep="row")
    assert not out.exists()


@pytest.mark.parametrize("nulls", ["category", "drop"])
def test_a_dry_run_needs_no_more_than_counts(nulls: str, tmp_path: Path) -> None:
    names = [*KEYS, "occupation", "race"]
    how: dict[str, Any] = {"suppression": 0.02, "identifiers": "race"}
    models = [KAnonymity(5), TCloseness("occupation", 0.6)]
    table = ADULT.select(names)
    counts = unveil.count(table.drop_nulls() if nulls == "drop" else table, names, nulls=nulls)
    dry = unveil.anonymize(counts, KEYS, models, dry_run=True, **how)
    whole = unveil.anonymize(table, KEYS, models, dry_run=True, nulls=nulls, **how)
    there, here = ({**one.to_dict(), "seconds": 0} for one in (dry, whole))
    assert there == here
    assert not list(tmp_path.iterdir())
    for place in (None, tmp_path / "x.csv"):
        with pytest.raises(UnsupportedDataError, match="a count table has no records"):
            unveil.anonymize(counts, KEYS, models, out=place, **how)
    with pytest.raises(ColumnNotFoundError):
        unveil.anonymize(counts, ["age", "relationship"], models, dry_run=True)
