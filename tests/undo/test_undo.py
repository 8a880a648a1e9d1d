"""What can somebody undo who has a release, this software and every setting, but no secret?

For every mechanism an intruder tries what the software lets him try: he calls it again, on the release, or on nothing but
zeros, with the settings of the release and with the seeds that a lazy user would take. His success is held against what the
mechanism promises anyway. Each attack is first shown to work: on a release made with a seed that the intruder tries, it wins.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import unveil
from unveil import mechanisms
from unveil.cli import run

RECORDS = 600
SEEDS = (0, 1, 42)
"""Seeds that an intruder tries."""

RANDOM = np.random.default_rng(7)
PEOPLE = pl.DataFrame(
    {
        "id": np.arange(RECORDS),
        "pay": RANDOM.permutation(np.arange(RECORDS) * 10 + 1_000),  # no ties: the most that ranks can give away
        "age": RANDOM.integers(18, 90, RECORDS),
        "town": RANDOM.choice(["a", "b", "c", "d"], RECORDS),
        "illness": RANDOM.choice(["flu", "cold", "gout", "aids", "burn"], RECORDS),
    }
)


def guesses(release: Callable[[int | None], Any]) -> list[Any]:
    """Return what the intruder gets by running the mechanism himself: without a seed, and with those he tries."""
    return [release(None), *(release(seed) for seed in SEEDS)]


def swapped(data: pl.DataFrame, seed: int | None) -> pl.DataFrame:
    made: pl.DataFrame = mechanisms.swap(data, "pay", share=0.9, keep_order=True, seed=seed).data
    return made


def rank_swapped(data: pl.DataFrame, seed: int | None) -> pl.DataFrame:
    made: pl.DataFrame = mechanisms.rank_swap(data, "pay", window=20, keep_order=True, seed=seed).data
    return made


@pytest.mark.parametrize(("protect", "promised"), [(swapped, 0.1), (rank_swapped, 0.0)])
def test_swapping_again_does_not_swap_back(protect: Callable[[pl.DataFrame, int | None], pl.DataFrame], promised: float) -> None:
    def success(seed: int | None) -> float:
        release = protect(PEOPLE, seed)
        back = guesses(lambda guess: protect(release, guess))
        return max(float((one["pay"] == PEOPLE["pay"]).mean()) for one in back)

    assert success(SEEDS[1]) > 0.95, "the attack works where the seed is tried"
    assert success(None) < promised + 0.12, "what keeps its value by the mechanism's own promise, and little by chance"


NOISES = ("uncorrelated", "correlated", "linear", "multiplicative")


@pytest.mark.parametrize("method", NOISES)
def test_noise_is_not_drawn_again(method: str) -> None:
    def noisy(data: pl.DataFrame, seed: int | None) -> np.ndarray[Any, Any]:
        made = mechanisms.add_noise(data, "pay", method=method, amount=1.0, keep_order=True, seed=seed)
        values: np.ndarray[Any, Any] = made.data["pay"].to_numpy()
        return values

    def left(seed: int | None) -> float:
        """Return the error that is left once the intruder took his own noise off, as a share of the noise that was added."""
        truth, release = PEOPLE["pay"].to_numpy(), noisy(PEOPLE, seed)
        errors = []
        for guess in (None, *SEEDS):
            own = noisy(PEOPLE.with_columns(pay=pl.Series(truth[::-1])), guess)  # the draws, by any data of his own
            if method == "multiplicative":
                estimate = release / (own / truth[::-1])
            elif method == "linear":
                estimate = release - (own - truth[::-1].mean()) + (truth[::-1] - truth.mean()) / np.sqrt(2.0)
                estimate = (estimate - truth.mean()) * np.sqrt(2.0) + truth.mean()
            else:
                estimate = release - (own - truth[::-1])
            errors.append(float(np.std(estimate - truth)))
        return min(errors) / float(np.std(release - truth))

    assert left(SEEDS[2]) < 0.05, "the attack works where the seed is tried"
    assert left(None) > 0.8, "taking off noise of one's own leaves at least about what was added"


def test_post_randomisation_is_not_drawn_again() -> None:
    def randomised(data: pl.DataFrame, seed: int | None) -> pl.Series:
        column: pl.Series = mechanisms.pram(data, "illness", retention=0.5, keep_order=True, seed=seed).data["illness"]
        return column

    def certain(seed: int | None) -> float:
        """Return the share of records whose value the intruder knows after he drew for every value that there could be."""
        release, best = randomised(PEOPLE, seed), 0.0
        for guess in SEEDS:
            could = np.zeros(RECORDS, dtype=int)
            right = np.zeros(RECORDS, dtype=bool)
            for value in sorted(set(PEOPLE["illness"])):
                # a table of the same values, so that codes are alike, in which every record in question has this one
                table = pl.concat([PEOPLE.with_columns(illness=pl.lit(value)), PEOPLE])
                drawn = randomised(table, guess)[:RECORDS]
                fits = (drawn == release).to_numpy()
                could += fits
                right |= fits & (PEOPLE["illness"] == value).to_numpy()
            best = max(best, float(np.mean((could == 1) & right)))
        return best

    exact = certain(None)
    assert exact < 0.45, "no more than he is right by chance"
    assert randomised(PEOPLE, 1).equals(randomised(PEOPLE, 1))
    assert not randomised(PEOPLE, None).equals(randomised(PEOPLE, None))


def test_the_secrets_of_anatomy_are_not_dealt_again() -> None:
    """Within a secret, groups take records in the order of one permutation; who knows it sees which member has which secret."""
    from scipy.optimize import linear_sum_assignment

    from unveil.randomness import chance_of

    most = 4
    data = PEOPLE.with_columns(illness=pl.Series(RANDOM.permutation(np.repeat(["flu", "cold", "gout", "aids", "burn"], 120))))
    truth = dict(zip(data["id"], data["illness"], strict=True))

    def success(seed: int | None) -> float:
        tables = mechanisms.anatomize(data, ["id"], "illness", l=most, keep_order=True, seed=seed)
        return max(_assigned(tables, guess) for guess in SEEDS)

    def _assigned(tables: unveil.Release[mechanisms.Anatomy], guess: int) -> float:
        draws = chance_of(guess).draws("anatomy")
        place = np.argsort(draws.permutation(RECORDS))
        made_at = np.argsort(draws.permutation(RECORDS // most))  # the number that a group was made under
        secrets: dict[int, list[str]] = {}
        for group, illness, _ in tables.sensitive.rows():
            secrets.setdefault(int(made_at[group - 1]), []).append(illness)
        groups = made_at[tables.quasi["group"].to_numpy() - 1]
        last, right = dict.fromkeys(truth.values(), RECORDS), 0
        for group in sorted(secrets):  # the records of a secret are taken from the end of the permutation on
            members = np.flatnonzero(groups == group)
            gaps = np.array([[last[one] - place[row] for one in secrets[group]] for row in members])
            rows, picked = linear_sum_assignment(np.where(gaps < 0, 50.0 * RECORDS, np.abs(gaps)))
            for row, one in zip(members[rows].tolist(), np.array(secrets[group])[picked].tolist(), strict=True):
                last[one] = place[row]
                right += one == truth[row]
        return right / RECORDS

    assert success(SEEDS[0]) > 0.5, "the attack works where the seed is tried"
    assert success(None) < 1.0 / most + 0.08


def test_the_order_of_anatomys_tables_says_nothing() -> None:
    tables = mechanisms.anatomize(PEOPLE, ["id"], "illness", l=3)
    places = np.corrcoef(np.arange(RECORDS), tables.quasi["id"].to_numpy())[0, 1]
    assert abs(places) < 5 / np.sqrt(RECORDS)
    groups = tables.sensitive["group"].to_numpy()
    assert abs(np.corrcoef(np.arange(len(groups)), groups)[0, 1]) < 5 / np.sqrt(len(groups))
    first = dict(zip(tables.quasi["id"], tables.quasi["group"], strict=True))
    numbers = np.array([first[row] for row in range(RECORDS)])
    assert abs(np.corrcoef(np.arange(RECORDS), numbers)[0, 1]) < 5 / np.sqrt(RECORDS)


VOUCHED = unveil.Study(PEOPLE, keep=["id", "pay"])
"""With the column that tells where a record stood, which no release has otherwise."""
ORDERED: dict[str, Callable[..., Any]] = {
    "swap": lambda **options: mechanisms.swap(VOUCHED, "pay", **options),
    "rank_swap": lambda **options: mechanisms.rank_swap(VOUCHED, "pay", window=10, **options),
    "swap_households": lambda **options: mechanisms.swap_households(VOUCHED, "town", risk="age", share=0.9, **options),
    "shuffle": lambda **options: mechanisms.shuffle(VOUCHED, "pay", **options),
    "add_noise": lambda **options: mechanisms.add_noise(VOUCHED, "pay", **options),
    "pram": lambda **options: mechanisms.pram(VOUCHED, "illness", retention=0.8, **options),
    "round_values": lambda **options: mechanisms.round_values(VOUCHED, "age", base=5, **options),
    "resample": lambda **options: mechanisms.resample(VOUCHED, "age", **options),
    "sample": lambda **options: mechanisms.sample(VOUCHED, share=0.8, **options),
    "microaggregate": lambda **options: mechanisms.microaggregate(VOUCHED, "age", k=3, **options),
    "top_bottom_code": lambda **options: mechanisms.top_bottom_code(VOUCHED, "age", top=70, **options),
    "massc": lambda **options: mechanisms.massc(VOUCHED, ["age", "town"], risk=0.05, **options),
    "pseudonymize": lambda **options: mechanisms.pseudonymize(VOUCHED, "illness", method="counter", **options),
}
"""Every mechanism whose records come from original ones, with what it is asked."""


@pytest.mark.parametrize("name", ORDERED)
def test_no_record_stands_where_it_stood_and_no_two_releases_are_alike(name: str) -> None:
    first, second, kept = ORDERED[name](), ORDERED[name](), ORDERED[name](keep_order=True)
    ids = first.data["id"].to_numpy()
    assert abs(np.corrcoef(np.arange(len(ids)), ids)[0, 1]) < 5 / np.sqrt(len(ids))
    assert not first.data.equals(second.data)
    assert first.repeatable is False
    assert kept.data["id"].is_sorted()
    assert (first.data["id"] == pl.Series(first.origin)).all()


@pytest.mark.parametrize("name", ORDERED)
def test_a_key_file_repeats_a_release_and_other_data_gets_other_draws(name: str, tmp_path: Path) -> None:
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_bytes(b"sixteen bytes and more")
    other.write_bytes(b"sixteen bytes or others")
    first, again, others = (ORDERED[name](key_file=place) for place in (key, key, other))
    assert first.data.equals(again.data)
    assert not first.data.equals(others.data)
    assert first.repeatable == "key"
    assert "sixteen" not in str(first.to_dict())
    assert str(key) not in str(first.to_dict())


def test_the_same_key_on_changed_data_does_not_show_the_difference(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"sixteen bytes and more")
    changed = PEOPLE.with_columns(pay=pl.when(pl.col("id") == 17).then(99_999).otherwise(pl.col("pay")))
    one, two = (
        mechanisms.add_noise(table, "pay", keep_order=True, key_file=key).data["pay"].to_numpy() for table in (PEOPLE, changed)
    )
    assert np.mean(np.abs(one - two) < 1.0) < 0.05, "the same noise would leave all but one record alike"


def test_two_equal_steps_of_a_chain_do_not_undo_each_other() -> None:
    import unveil

    step = unveil.Step("swap", ["pay"], {"share": 0.9})
    made = unveil.protect(PEOPLE, [step, step], keep_order=True, seed=1)
    assert float((made.data["pay"] == PEOPLE["pay"]).mean()) < 0.2
    assert made.repeatable == "seed"


def test_repeatable_releases_are_marked_and_hold_no_seed() -> None:
    made = mechanisms.add_noise(PEOPLE, "pay", seed=987_654_321)
    assert made.repeatable == "seed"
    shown = [str(made.to_dict()), made._repr_html_(), repr(made.record)]
    assert all("987654321" not in text and "987,654,321" not in text for text in shown)
    assert "not for publication" in shown[0]
    assert "not for publication" in shown[1]


COMMANDS = {
    "rank_swap": ["--mechanism", "rank_swap", "--attribute", "pay", "--set", "window=10"],
    "swap": ["--mechanism", "swap", "--attribute", "pay"],
    "swap_households": ["--mechanism", "swap_households", "--attribute", "town", "--set", "risk=age"],
    "shuffle": ["--mechanism", "shuffle", "--attribute", "pay"],
    "pram": ["--mechanism", "pram", "--attribute", "town", "--set", "retention=0.8"],
    "add_noise": ["--mechanism", "add_noise", "--attribute", "pay"],
    "sample": ["--mechanism", "sample", "--set", "share=0.5"],
    "safepub": ["--mechanism", "safepub", "--attribute", "town", "--set", "epsilon=2.0", "--set", "delta=0.001"],
    "synthesize": ["--mechanism", "synthesize", "--attribute", "age", "--attribute", "town"],
    "generalisation": ["--key", "age", "--key", "town", "--k", "2", "--suppression", "0.2"],
    "mondrian": ["--mechanism", "mondrian", "--key", "age", "--key", "town", "--k", "2"],
    "microaggregate": ["--mechanism", "microaggregate", "--attribute", "pay", "--set", "k=3"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_line_gives_two_different_files(name: str, tmp_path: Path) -> None:
    data, first, second = (tmp_path / name for name in ("people.csv", "one.csv", "two.csv"))
    PEOPLE.write_csv(data)
    for out in (first, second):
        assert run(["anonymize", str(data), *COMMANDS[name], "--out", str(out)]) == 0
    assert first.read_bytes() != second.read_bytes()


@pytest.mark.parametrize("given", [["--seed", "1"], ["--key-file", "key"]])
@pytest.mark.parametrize("mechanism", ["dp_count", "safepub"])
def test_differential_privacy_takes_neither_seed_nor_key_file(
    mechanism: str, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("key").write_text("sixteen bytes and more")
    words = ["--attribute", "sex", "--set", "delta=1e-6"] if mechanism == "safepub" else []
    assert run(["anonymize", "adult", "--mechanism", mechanism, "--set", "epsilon=1.0", *words, *given]) == 2
    assert capsys.readouterr().err.startswith("unveil: ")
