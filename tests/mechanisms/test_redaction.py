"""Free text redacted, and what it still says, against a search by hand."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from random import Random

import polars as pl
import pytest

from unveil import attacks, mechanisms
from unveil.cli import run
from unveil.errors import ArgumentError, UnsupportedDataError, UnveilError
from unveil.identifiers.within import KINDS, redacted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Mail ann.lee+x@mail.example.org, or see https://example.org/~ann?x=1", "Mail [email], or see [url]"),
        ("born 1980-03-12, 12/3/80, 12.03.1980, 3 May 1980, May 3rd, 1980", "born [date], [date], [date], [date], [date]"),
        ("call +49 30 1234567, 020 7946 0018 or (212) 555-0123.", "call [phone], [phone] or [phone]."),
        ("IBAN DE89 3704 0044 0532 0130 00 is right", "IBAN [iban] is right"),
        ("card 4111 1111 1111 1111, ssn 123-45-6789", "card [card-number], ssn [national-number]"),
        ("from 192.168.10.1 and 2001:db8::1 by 00:1a:2b:3c:4d:5e", "from [ip-address] and [ip-address] by [mac-address]"),
        ("lives at 12 High Street, SW1A 1AA", "lives at [postal-address], [postcode]"),
        ("wohnt Hauptstraße 5, 10115 Berlin", "wohnt [postal-address], [postcode] Berlin"),
        ("seen by Dr. van der Berg with John A. Smith", "seen by [person-name] with [person-name]"),
        ("record 1234567, chart AB-1234/56", "record [number], chart [number]"),
        (
            "took 500 mg of aspirin twice, pressure 120/80, since 2019",
            "took 500 mg of aspirin twice, pressure 120/80, since 2019",
        ),
        ("", ""),
    ],
)
def test_what_is_recognised_becomes_its_kind(text: str, wanted: str) -> None:
    assert redacted(text, list(KINDS))[0] == wanted


def test_what_fails_its_check_is_no_card_and_no_account() -> None:
    text = redacted("card 4111 1111 1111 1112 IBAN DE00 3704 0044 0532 0130 00", ["iban", "card-number"])[0]
    assert "[" not in text


def test_only_what_is_asked_for_is_replaced() -> None:
    frame = pl.DataFrame({"note": ["Mr John Smith, john@smith.org, 3 May 1980", None]})
    made = mechanisms.redact_text(frame, "note", kinds=["email"], keep_order=True)
    assert made.data["note"].to_list() == ["Mr John Smith, [email], 3 May 1980", None]
    assert made.figures["replaced"] == {"email": 1}


FIRST, LAST, TOWNS = ["Ann", "Bo", "Cleo", "Dag"], ["Lee", "Dahl", "Moore", "Quist"], ["Bath", "Ely", "York"]


def people(seed: int, records: int = 60) -> pl.DataFrame:
    random = Random(seed)  # noqa: S311 - a made-up table
    rows = []
    for _ in range(records):
        first, last, town = random.choice(FIRST), random.choice(LAST), random.choice(TOWNS)
        born = dt.date(1950 + random.randrange(50), 1 + random.randrange(12), 1 + random.randrange(28))
        said = random.choice(
            [f"{last} came from {town}.", f"{first} has a cough", f"born {born:%d.%m.%Y}, well", f"born on {born.day} {born:%B %Y}",
             "nothing to report", f"our {first.lower()} again", f"{first} {last} of {town}"]
        )  # fmt: skip
        rows.append((f"{first} {last}", town, born, said))
    return pl.DataFrame(rows, schema=["name", "town", "born", "note"], orient="row")


def slow(frame: pl.DataFrame, texts: list[str]) -> float:
    """The share of texts in which a word of the name, the town, or the day in some writing stands."""
    found = 0
    for (name, town, born), text in zip(frame.select("name", "town", "born").rows(), texts, strict=True):
        plain = re.sub(r"\[[^\]]*\]", " ", text)
        words = {word.lower() for word in re.findall(r"[A-Za-z]+", plain)}
        days = (f"{born:%d.%m.%Y}", f"{born.day} {born:%B %Y}")
        found += bool(words & {*name.lower().split(), town.lower()} - {"bo"}) or any(day in plain for day in days)
    return found / len(texts)


@pytest.mark.parametrize("seed", range(3))
def test_leaks_are_those_that_a_search_by_hand_finds(seed: int) -> None:
    frame = people(seed)
    known = ["name", "town", "born"]
    found = attacks.text_leaks(frame, "note", known=known)
    assert found.any_known == pytest.approx(slow(frame, frame["note"].to_list()))
    made = mechanisms.redact_text(frame, "note", kinds=["date"], known=["town"], keep_order=True)
    after = attacks.text_leaks(made.data, "note", known=known, original=frame)
    assert after.any_known == pytest.approx(slow(frame, made.data["note"].to_list()))
    assert after.known["town"] == 0.0 == after.known["born"] < found.known["town"]


def test_nothing_known_is_left_where_all_of_it_is_named() -> None:
    frame = people(5)
    made = mechanisms.redact_text(frame, "note", known=["name", "town", "born"], keep_order=True)
    assert slow(frame, made.data["note"].to_list()) == 0.0
    assert made.figures["known_before"] > 0.5
    assert made.figures["known_after"] == 0.0
    assert made.data["name"].to_list() == frame["name"].to_list(), "other columns are the user's to protect"


def test_words_of_one_person_only() -> None:
    frame = pl.DataFrame({"who": [1, 1, 2], "note": ["rare gout here", "gout again here", "cough here [person-name]"]})
    alone = attacks.text_leaks(frame, "note")
    assert alone.distinctive == 1.0
    assert alone.words == pytest.approx((1 + 1 + 1) / 3)
    owned = attacks.text_leaks(frame, "note", person="who")
    assert owned.words == pytest.approx((2 + 2 + 1) / 3)


def test_long_texts_take_no_time_that_grows_with_their_square() -> None:
    for text in ("A" * 50_000, "A b " * 20_000, "1 " * 50_000, "1" * 50_000, "a@" * 20_000, "Aa " * 20_000, ":" * 20_000):
        redacted(text, list(KINDS))


def test_bad_input_is_refused() -> None:
    frame = people(1, 5)
    with pytest.raises(ArgumentError, match="kinds"):
        mechanisms.redact_text(frame, "note", kinds=["names"])
    for wrong in ({"known": "note"}, {"known": "nobody"}, {"person": "nobody"}):
        with pytest.raises(UnveilError):
            mechanisms.redact_text(frame, "note", **wrong)
        with pytest.raises(UnveilError):
            attacks.text_leaks(frame, "note", **wrong)
    with pytest.raises(ArgumentError, match="same order"):
        attacks.text_leaks(frame, "note", original=people(1, 4))


def test_on_the_command_line(tmp_path: Path) -> None:
    data, out = tmp_path / "notes.csv", tmp_path / "release.csv"
    people(2).write_csv(data)
    words = ["anonymize", str(data), "--mechanism", "redact_text", "--attribute", "note", "--set", 'known=["name","town"]']
    assert run([*words, "--keep", "note", "--keep", "name", "--out", str(out)]) == 0
    assert "[" in out.read_text()
    assert run([*words, "--set", 'kinds=["nonsense"]', "--out", str(out)]) == 2


def test_texts_of_one_person_are_told_by_the_values_of_any_countable_column() -> None:
    texts = pl.DataFrame({"person": [["a"], ["b"]], "note": ["cough", "fever"]})
    with pytest.raises(UnsupportedDataError, match="holds List values"):
        attacks.text_leaks(texts, "note", person="person")
    counted = pl.DataFrame({"person": [1, 1, None], "note": ["cough", "cough now", "fever"]})
    assert attacks.text_leaks(counted, "note", person="person").distinctive == 1.0
