"""What should a person see of an audit of synthetic data? The risks beside the hold-out, then copies and distances in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.results import Table
from unveil.results.numbers import counted, number

__all__ = ["synthetic_notes", "synthetic_tables"]

_COLUMNS = ("attack", "risk", "95% interval", "on its people", "on the hold-out", "by chance")
_READING = (
    "risk: of the attacks that fail on people who took no part, the share that the release makes succeed, (people - hold-out) / "
    "(1 - hold-out), cut at 0"
)


def synthetic_tables(found: Mapping[str, Any]) -> list[Table]:
    """Return the attacks beside the hold-out, membership by score, and secrets."""
    rows = []
    for name, way in found["singling_out"]["ways"].items():
        rows.append((f"singling out, {name}", *_figures(way)))
    rows += [(name, *_figures(found[name])) for name in ("linkability", "inference")]
    return [
        Table(_COLUMNS, tuple(rows), title="Attacks on synthetic data", note=_reasons(rows, found), bars=frozenset({"risk"})),
        _membership(found["membership"]),
        _secrets(found),
    ]


def _figures(way: Mapping[str, Any]) -> tuple[Any, ...]:
    return (way["risk"], _interval(way), way.get("main"), way["control"], way["baseline"])


def _interval(way: Mapping[str, Any]) -> str | None:
    return None if way["low"] is None else f"{number(way['low'])} to {number(way['high'])}"


def _reasons(rows: Sequence[tuple[Any, ...]], found: Mapping[str, Any]) -> str:
    sections = [*found["singling_out"]["ways"].values(), found["linkability"], found["inference"]]
    told = [f"{row[0]}: {section['reason']}" for row, section in zip(rows, sections, strict=True) if section.get("reason")]
    return "\n".join([_READING, *told])


def _membership(found: Mapping[str, Any]) -> Table:
    rows = [
        (name.replace("_", " "), row["false_positive_rate"], row["true_positive_rate"], row["risk"], _interval(row))
        for name, levels in found.get("ways", {}).items()
        for row in levels
    ]
    columns = ("membership by", "strangers suspected", "members found", "risk", "interval")
    return Table(columns, tuple(rows), title="Membership", note=found.get("reason", ""), bars=frozenset({"members found"}))


def _secrets(found: Mapping[str, Any]) -> Table:
    rates = {row["secret"]: row for row in found["discrimination_rate"].get("by_secret", ())}
    rows = []
    for entry in found["inference"].get("by_secret", ()):
        rate = rates.get(entry["secret"], {})
        figures = (entry["main"], entry["control"], entry["risk"], rate.get("value"), rate.get("control"))
        rows.append((entry["secret"], *figures))
    columns = ("secret", "guessed right", "on the hold-out", "risk", "rate", "rate, hold-out")
    note = "rate: the Discrimination Rate of the true value given the guess, adjusted for chance"
    return Table(columns, tuple(rows), title="Secrets read off the nearest synthetic record", note=note, bars=frozenset({"risk"}))


def synthetic_notes(found: Mapping[str, Any]) -> list[str]:
    """Return in words what was copied and how near the release is, or why the release was not audited as synthetic data."""
    if found["control"] is None:
        return [f"If the release is synthetic: {found['membership']['reason']} (`control`)."]
    copied, near = found["copies"], found["closest"]
    one, other = copied["unique"], copied["control_unique"]
    equal = f"{counted(copied['records'], 'synthetic record')} ({copied['share']:.2%}) equal an original one."
    nearer = f"{near['nearer_share']:.2%} of the synthetic records are nearer to the original than to the hold-out"
    notes = [
        f"{equal} {_share(one)} of the unique records of the original are in the release, and {_share(other)} of the hold-out's.",
        f"{nearer} (50 % where nothing is copied; {near['compared_with']:,} records of each).",
    ]
    if found["control"]["equal_to_original"]:
        notes.append(
            f"{counted(found['control']['equal_to_original'], 'record')} of the hold-out equal an original one, where "
            f"chance gives about {found['control']['expected']:,.0f}."
        )
    return notes


def _share(people: Mapping[str, Any]) -> str:
    return "none" if people["share"] is None else f"{people['share']:.2%}"
