"""The view of an audit of synthetic data: the risks beside the hold-out, then copies and distances in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unveil.formats import counted, number
from unveil.results import Table

__all__ = ["synthetic_notes", "synthetic_tables"]

_COLUMNS = ("attack", "risk", "95% interval", "on its people", "on the hold-out", "by chance")
_READING = (
    "risk: of the attacks that fail on the hold-out, the share that the release makes succeed, (people - hold-out) / "
    "(1 - hold-out), cut at 0"
)


def synthetic_tables(audit: Mapping[str, Any]) -> list[Table]:
    """Return the attacks beside the hold-out, membership by score, and sensitive attributes."""
    rows = []
    for name, way in audit["singling_out"]["ways"].items():
        rows.append((f"singling out, {name}", *_figures(way)))
    rows += [(name, *_figures(audit[name])) for name in ("linkability", "inference")]
    return [
        Table(_COLUMNS, tuple(rows), title="Attacks on synthetic data", note=_reasons(rows, audit), bars=frozenset({"risk"})),
        _membership(audit["membership"]),
        _sensitive(audit),
    ]


def _figures(way: Mapping[str, Any]) -> tuple[Any, ...]:
    return (way["risk"], _interval(way), way.get("main"), way["control"], way["baseline"])


def _interval(way: Mapping[str, Any]) -> str | None:
    return None if way["low"] is None else f"{number(way['low'])} to {number(way['high'])}"


def _reasons(rows: Sequence[tuple[Any, ...]], audit: Mapping[str, Any]) -> str:
    sections = [*audit["singling_out"]["ways"].values(), audit["linkability"], audit["inference"]]
    reasons = [f"{row[0]}: {section['reason']}" for row, section in zip(rows, sections, strict=True) if section.get("reason")]
    return "\n".join([_READING, *reasons])


def _membership(audit: Mapping[str, Any]) -> Table:
    rows = [
        (name.replace("_", " "), row["false_positive_rate"], row["true_positive_rate"], row["risk"], _interval(row))
        for name, levels in audit.get("ways", {}).items()
        for row in levels
    ]
    columns = ("membership by", "strangers suspected", "members found", "risk", "interval")
    return Table(columns, tuple(rows), title="Membership", note=audit.get("reason", ""), bars=frozenset({"members found"}))


def _sensitive(audit: Mapping[str, Any]) -> Table:
    rates = {row["secret"]: row for row in audit["discrimination_rate"].get("by_secret", ())}
    rows = []
    for entry in audit["inference"].get("by_secret", ()):
        rate = rates.get(entry["secret"], {})
        figures = (entry["main"], entry["control"], entry["risk"], rate.get("value"), rate.get("control"))
        rows.append((entry["secret"], *figures))
    columns = ("sensitive attribute", "guessed right", "on the hold-out", "risk", "rate", "rate, hold-out")
    note = "rate: the Discrimination Rate of the true value given the guess, adjusted for chance"
    return Table(
        columns, tuple(rows), title="Sensitive values read off the nearest synthetic record", note=note, bars=frozenset({"risk"})
    )


def synthetic_notes(audit: Mapping[str, Any]) -> list[str]:
    """Return, in words, what was copied and how near the release is, or why the release was not audited as synthetic data."""
    if audit["control"] is None:
        return [f"If the release is synthetic: {audit['membership']['reason']} (`control`)."]
    copied, near = audit["copies"], audit["closest"]
    one, other = copied["unique"], copied["control_unique"]
    equal = f"{counted(copied['records'], 'synthetic record')} ({copied['share']:.2%}) equal an original one."
    nearer = f"{near['nearer_share']:.2%} of the synthetic records are nearer to the original than to the hold-out"
    notes = [
        f"{equal} {_share(one)} of the unique records of the original are in the release, and {_share(other)} of the hold-out's.",
        f"{nearer} (50 % if nothing is copied; {near['compared_with']:,} records of each).",
    ]
    if audit["control"]["equal_to_original"]:
        notes.append(
            f"{counted(audit['control']['equal_to_original'], 'record')} of the hold-out equal an original one, where "
            f"chance gives about {audit['control']['expected']:,.0f}."
        )
    return notes


def _share(people: Mapping[str, Any]) -> str:
    return "none" if people["share"] is None else f"{people['share']:.2%}"
