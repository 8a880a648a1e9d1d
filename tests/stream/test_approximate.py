"""Beyond its limit a window samples classes: those that stay are exact, the figures are estimates with errors that hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import CountsError, UndefinedMeasureError
from unveil.stream.window import Window

RANDOM = np.random.default_rng(29)


def stream(records: int, values: int = 400, trial: int = 0) -> pl.DataFrame:
    """Draw records of classes of many sizes; the values differ from trial to trial, and so do their hashes."""
    zips = (values * RANDOM.random(records) ** 3).astype(int)
    sick = np.where(RANDOM.random(records) < (zips % 7) / 7.0, "yes", RANDOM.choice(["no", "maybe"], records))
    return pl.DataFrame({
        "zip": [f"{trial}-{one}" for one in zips],
        "age": RANDOM.integers(20, 60, records),
        "sick": sick,
        "who": RANDOM.integers(0, 50, records),
        "t": np.arange(records),
    })  # fmt: skip


def test_figures_are_exact_up_to_the_limit_and_say_so_beyond() -> None:
    data = pl.DataFrame({"a": [*range(500), 0], "s": ["x", "y"] * 250 + ["x"]})
    whole = Window("a", "s", limit=500).update(data)
    assert whole.share == 1.0
    assert whole.rate == unveil.discrimination_rate(data, "a", "s").value
    assert "approximate" not in whole.figures().to_dict()
    part = Window("a", "s", limit=499).update(data)
    assert part.share == 0.5
    about = part.figures().to_dict()["approximate"]
    assert about["share"] == 0.5
    assert about["k"] == "at most"
    assert part.rate == pytest.approx(1.0)  # each of the classes holds one value
    assert abs(part.keys[0].classes - 500) < 4 * about["classes_error"]
    with pytest.raises(UndefinedMeasureError, match="kind"):
        _ = part.kind
    with pytest.raises(CountsError, match="limit"):
        part.counts()


@pytest.mark.parametrize("extent", [{"size": 3000}, {"duration": 3000, "time": "t"}, {}])
def test_the_classes_of_the_sample_are_whole(extent: dict[str, Any]) -> None:
    data = stream(9000)
    window = Window(["zip", "age"], "sick", limit=700, **extent)
    for start in range(0, 9000, 700):
        window.update(data[start : start + 700])
    counts = window._expiry.counts  # noqa: SLF001 - what stays is not shown to users
    sample = counts.table()
    held = data[-3000:] if extent else data
    exact = unveil.count(held, ["zip", "age", "sick"])
    cells = {tuple(cell[name] for name in ("zip", "age", "sick")): cell["n"] for cell in exact.to_dict()["cells"]}
    kept = {tuple(cell[name] for name in ("zip", "age", "sick")): cell["n"] for cell in sample.to_dict()["cells"]}
    classes = {cell[:2] for cell in kept}
    assert kept == {cell: n for cell, n in cells.items() if cell[:2] in classes}
    assert len(kept) <= 700
    assert window.records == held.height
    sick = held.group_by("sick").len()["len"].sort().to_list()
    assert sorted(counts.marginal(["sick"]).tolist()) == sick


def test_the_errors_hold_what_they_say() -> None:
    """Of many streams, two standard errors around the estimates hold the exact figures in about 95 of 100."""
    off: dict[str, list[float]] = {"rate": [], "identity": [], "uniques": [], "classes": []}
    for trial in range(40):
        data = stream(4000, 3000, trial)
        for sensitive, name in (("sick", "rate"), (None, "identity")):
            exact = Window("zip", sensitive).update(data)
            about = Window("zip", sensitive, limit=600).update(data)
            assert about.share < 1.0
            (figures,) = about.keys
            errors = figures.approximate
            assert errors is not None
            assert errors.dr_error is not None
            off[name].append((about.rate - exact.rate) / errors.dr_error)
            assert about.k >= exact.k
            if sensitive is None:
                assert errors.uniques_error is not None
                assert errors.classes_error is not None
                off["uniques"].append((figures.uniques - exact.uniques) / errors.uniques_error)
                off["classes"].append((figures.classes - exact.keys[0].classes) / errors.classes_error)
    for name, scores in off.items():
        assert np.mean(np.abs(scores) <= 2.0) >= 0.85, name
        assert np.abs(scores).max() < 5.0, name
        assert abs(np.mean(scores)) < 0.6, name
        assert np.std(scores) > 0.6, name  # the errors are no wider than they have to be


def test_several_keys_are_sampled_by_the_columns_that_they_share() -> None:
    data = stream(6000, 800)
    window = Window([["zip", "age"], ["zip"]], "sick", limit=2500).update(data)
    assert window.share < 1.0
    for figures in window.keys:
        exact = unveil.discrimination_rate(data, list(figures.key), "sick").value
        assert figures.approximate is not None
        assert figures.dr == pytest.approx(exact, abs=4.0 * (figures.approximate.dr_error or 0.0))


def test_what_cannot_be_sampled_is_refused() -> None:
    with pytest.raises(CountsError, match="share no column"):
        Window([["zip"], ["age"]], "sick", limit=50).update(stream(2000))
    with pytest.raises(CountsError, match="sensitive values alone"):
        Window("age", "zip", limit=50).update(stream(2000))


def test_of_persons_the_rate_is_left_out() -> None:
    data = stream(8000, 3000)
    window, exact = (Window("zip", "sick", person="who", limit=limit).update(data) for limit in (2000, 10**6))
    (figures,) = window.keys
    assert figures.dr is None
    assert "persons" in str(figures.reason)
    assert figures.approximate is not None
    assert abs(figures.uniques - exact.uniques) < 4 * (figures.approximate.uniques_error or 0.0)


def test_batches_and_a_kept_state_change_nothing() -> None:
    data = stream(6000, 2000)
    lines = []
    for step in (6000, 777):
        window = Window("zip", "sick", size=2500, every=500, limit=300)
        found: list[Any] = []
        for start in range(0, 6000, step):
            found += [figures.to_dict() for figures in window.feed(data[start : start + step])]
            document, arrays = window.state()
            window = Window("zip", "sick", size=2500, every=500, limit=300)
            window.restore(json.loads(json.dumps(document)), arrays)
        lines.append(found)
    assert lines[0] == lines[1]
    assert "approximate" in lines[0][-1]


def test_records_outside_of_the_sample_are_reverted_too() -> None:
    data, more = stream(3000, 2000), stream(200, 2000)
    window = Window("zip", "sick", limit=300).update(data)
    before = window.figures().to_dict()
    window.update(more)
    if window.share == before["approximate"]["share"]:
        assert window.revert(more).figures().to_dict()["dr"] == before["dr"]
    assert window.records in (3000, 3200)


def test_a_watch_says_that_its_figures_are_estimates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, report = tmp_path / "people.ndjson", tmp_path / "run.html"
    stream(4000, 2000).write_ndjson(place)
    words = ["watch", str(place), "--key", "zip", "--sensitive", "sick", "--window", "3000", "--every", "1000", "--no-follow"]
    assert run([*words, "--limit", "200", "--json", "--out", str(report)]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["approximate"]["share"] < 1.0
    assert last["window"]["records"] == 3000
    assert "estimates" in report.read_text("utf-8")
    assert run([*words, "--limit", "200"]) == 0
    assert "estimated from" in capsys.readouterr().out


def test_rules_are_not_judged_by_a_sample_and_so_never_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, report = tmp_path / "people.ndjson", tmp_path / "run.html"
    stream(4000, 2000).write_ndjson(place)
    words = ["watch", str(place), "--key", "zip", "--sensitive", "sick", "--window", "3000", "--every", "1000", "--no-follow"]
    words += ["--policy", "cell-size-5", "--limit", "200"]
    assert run([*words, "--json", "--out", str(report)]) == 1
    first, *_, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert "undecided" not in first  # the window is not full yet
    assert list(last["undecided"]) == ["k_anonymity at least 5"]
    assert "more combinations of values than its limit" in last["undecided"]["k_anonymity at least 5"]
    assert last["alarms"] == []
    page = report.read_text("utf-8")
    assert "were not judged" in page
    assert "k_anonymity at least 5" in page
    assert "The classes of the last window that disclose most cannot be determined" in page
    assert run(words) == 1
    assert "NOT JUDGED: k_anonymity at least 5" in capsys.readouterr().out


def test_a_rule_that_nothing_decides_is_said_of_exact_windows_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, policy = tmp_path / "people.ndjson", tmp_path / "policy.toml"
    stream(400, 3).write_ndjson(place)
    policy.write_text("[policy]\nk_anonymity = 2\nlinkage = 0.1\n", "utf-8")
    words = [
        "watch",
        str(place),
        "--key",
        "zip",
        "--sensitive",
        "sick",
        "--window",
        "200",
        "--every",
        "200",
        "--no-follow",
        "--json",
    ]
    state = ["--checkpoint", str(tmp_path / "state"), "--policy", str(policy)]
    assert run([*words, *state]) == 1
    for line in map(json.loads, capsys.readouterr().out.splitlines()):
        assert line["alarms"] == []
        assert [rule for rule in line["undecided"] if rule.startswith("linkage")]
        assert not [rule for rule in line["undecided"] if rule.startswith("k_anonymity")]
    assert run([*words, *state]) == 1  # nothing new came, and what was not judged is not met by that


def test_a_policy_counts_persons_where_the_window_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "people.ndjson"
    pl.DataFrame({"zip": [1] * 6 + [2] * 6, "who": [1] * 6 + [2, 3, 4, 5, 6, 7]}).write_ndjson(place)
    words = [
        "watch",
        str(place),
        "--key",
        "zip",
        "--window",
        "12",
        "--every",
        "12",
        "--no-follow",
        "--json",
        "--policy",
        "cell-size-5",
    ]
    assert run([*words, "--person", "who"]) == 1
    assert json.loads(capsys.readouterr().out)["alarms"] == ["k_anonymity at least 5 (the key)"]
    assert run(words) == 0
