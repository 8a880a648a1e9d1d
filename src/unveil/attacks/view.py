"""What should a person see of an attack? The gain of each on one scale, then attribute by attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unveil.results import Figure, Table, View
from unveil.results.numbers import counted, number

if TYPE_CHECKING:
    from unveil.attacks.attack import Attack

__all__ = ["view_of"]

_MEANING = {
    "identity": "how far protected attributes give the original ones away (white box)",
    "homogeneity": "how far the key gives the sensitive attributes away",
}


def view_of(found: Attack) -> View:
    """Return the risks, a table an attack, and remarks."""
    figures = [Figure(f"{name} risk", risk, _MEANING[name]) for name, risk in found.overall["risk"].items() if risk is not None]
    if found.overall["overall_information_loss"] is not None:
        figures.append(Figure("information loss", found.overall["overall_information_loss"], "overall: the mean of 1 - risk"))
    black = found.identity["black_box"]
    share = f"{black['share_unique']:.2%} of {counted(found.made.records, 'record')}"
    figures.append(Figure("unique in release", black["uniques"], share))
    tables = [_identity(found.identity["white_box"]), *_disclosure(found)]
    tables += [*_similarity(found.similarity), *_linkage(found.linkage)]
    return View("What an intruder gains", tuple(figures), tuple(table for table in tables if table.rows), tuple(_notes(found)))


def _identity(white_box: Any) -> Table:
    rows = tuple((row["attribute"], row["release"], row["value"], row.get("kind")) for row in white_box["by_attribute"])
    note = next((row["reason"] for row in white_box["by_attribute"] if row.get("reason")), "")
    columns = ("original", "protected", "rate", "kind")
    return Table(columns, rows, title="Identity attack, white box", note=note, bars=frozenset({"rate"}))


def _disclosure(found: Attack) -> list[Table]:
    tables = []
    for name, entry in found.homogeneity["by_sensitive"].items():
        skew = found.skewness["by_sensitive"][name]
        before = {row["release"]: row.get("in_original") for row in skew.get("by_attribute", [])}
        rows: list[tuple[Any, ...]] = []
        for row in entry["by_attribute"]:
            rows.append((row["release"], row["value"], before.get(row["release"]), row["kind"]))  # noqa: PERF401
        if len(rows) > 1:
            rows.insert(0, ("all together", entry["value"], skew.get("in_original"), entry["kind"]))
        certain = entry["certain"]
        best = found.background["by_sensitive"][name]["knowledge"][0]
        note = (
            f"{counted(certain['records'], 'record')} disclosed for certain; knowing who is not {best['not']} would add "
            f"{counted(best['newly_certain'], 'record')}; belief rises at most {number(skew['belief']['ratio'])} times in a class"
        )
        columns = ("key", "rate", "in the original", "kind")
        tables.append(Table(columns, tuple(rows), title=f"Homogeneity and skewness: {name}", note=note, bars=frozenset({"rate"})))
    return tables


def _similarity(models: Any) -> list[Table]:
    rows = []
    for model, section in models.items():
        for name, entry in section["by_sensitive"].items():
            rows.append((model, name, "all together", entry["plain"], entry["value"]))
            rows += [(model, name, row["release"], row["plain"], row["value"]) for row in entry["by_attribute"]]
    columns = ("partition", "sensitive", "key", "plain rate", "semantic rate")
    return [Table(columns, tuple(rows), title="Similarity attack", bars=frozenset({"semantic rate"}))]


def _linkage(found: Any) -> list[Table]:
    rows = tuple(
        (name, entry["linked"], entry.get("linked_second"), entry["baseline"], entry["records"])
        for name, entry in found.items()
        if isinstance(entry, dict) and "linked" in entry
    )
    columns = ("linkage", "linked", "second nearest", "by chance", "records")
    return [Table(columns, rows, title="Record linkage", bars=frozenset({"linked"}))]


def _notes(found: Attack) -> list[str]:
    notes = []
    if found.alignment is None:
        notes.append("It was not said which record is which; attacks that need it were not made (--id, --link or --same-order).")
    else:
        told = found.alignment.to_dict()
        notes.append(
            f"{counted(told['aligned'], 'record')} aligned by {told['by']}; {told['dropped']:,} of the original not released, "
            f"{told['added']:,} of the release without an original."
        )
    if found.suppressed:
        notes.append(f"{counted(found.suppressed, 'record')} of the release without any key value: kept, they refine nothing.")
    if found.skewness["by_sensitive"]:
        notes.append("Skewness is the rate in the original minus that in the release; it is no risk and not in the global mean.")
    return notes
