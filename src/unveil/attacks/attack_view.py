"""The view of an attack: the gain of each on one scale, then attribute by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unveil.attacks.synthetic.audit_view import synthetic_notes, synthetic_tables
from unveil.errors import listed
from unveil.measures.units import Unit, noun, people, unit_of
from unveil.results import Figure, Table, View
from unveil.results.numbers import counted, number

if TYPE_CHECKING:
    from unveil.attacks.attack import Attack

__all__ = ["view_of"]

_MEANING = {
    "identity": "how far protected attributes give the original ones away (white box)",
    "homogeneity": "how far the key gives the sensitive attributes away",
    "discrimination_rate": "adjusted for chance: how far the release gives away the sensitive values of its people",
    "singling_out": "predicates that fit one synthetic record and one real person, beyond the hold-out",
    "linkability": "two files of one person joined through the release, beyond the hold-out",
    "inference": "sensitive values read off the nearest synthetic record, beyond the hold-out",
    "membership": "people recognised as being in the original, beyond false alarms",
}


def view_of(attack: Attack) -> View:
    """Return the risks, a table for each attack, and remarks."""
    audited, unit = attack.synthetic["control"] is not None, unit_of(attack.made.person)
    persons = unit == "persons"
    figures = [Figure(_called(name), risk, _MEANING[name]) for name, risk in attack.overall["risk"].items() if risk is not None]
    if not audited and attack.overall["overall_information_loss"] is not None:
        figures.append(Figure("information loss", attack.overall["overall_information_loss"], "overall: the mean of 1 - risk"))
    if (known := attack.linkage.get("known_method")) is not None:
        figures.append(Figure("linked", known["linked"], f"{noun(unit)} found again by an intruder who knows the method"))
    black = attack.identity["black_box"]
    share = f"{black['share_unique']:.2%} of {'all people' if persons else counted(attack.made.records, 'record')}"
    figures.append(Figure("unique in release", black["uniques"], share))
    white = attack.identity["white_box"]
    tables = synthetic_tables(attack.synthetic) if audited else [_white_box(white)]
    tables += [_by_meaning(white["by_model"]), _black_box(attack), *_disclosure(attack)]
    tables += [_similarity(attack.similarity), _linkage(attack.linkage)]
    return View("What an intruder gains", tuple(figures), tuple(table for table in tables if table.rows), tuple(_notes(attack)))


def _called(name: str) -> str:
    return "Discrimination Rate" if name == "discrimination_rate" else f"{name.replace('_', ' ')} risk"


def _white_box(white_box: Any) -> Table:
    rows = [(row["attribute"], row["release"], row["value"], row.get("kind")) for row in white_box["by_attribute"]]
    combined = white_box["combined"]
    if len(rows) > 1 and combined["value"] is not None:
        rows.insert(0, ("all together", "all together", combined["value"], combined["kind"]))
    columns = ("original", "protected", "rate", "kind")
    note = _reasons(white_box["by_attribute"])
    return Table(columns, tuple(rows), title="Identity attack, white box", note=note, bars=frozenset({"rate"}))


def _by_meaning(models: Any) -> Table:
    measured = [(model, row) for model, section in models.items() for row in section["by_attribute"] if row["plain"] is not None]
    rows = [(model, row["attribute"], row["release"], row["plain"], row["value"]) for model, row in measured]
    columns = ("partition", "original", "protected", "plain rate", "semantic rate")
    title = "Identity attack, white box, by meaning"
    return Table(
        columns, tuple(rows), title=title, note=_reasons([row for _, row in measured]), bars=frozenset({"semantic rate"})
    )


def _black_box(attack: Attack) -> Table:
    black = attack.identity["black_box"]
    rows = [(row["release"], row["value"], row["kind"]) for row in black["by_attribute"]]
    if len(rows) > 1:
        rows.insert(0, ("all together", black["value"], black["kind"]))
    title, note = "Identity attack, black box: record identity", _reasons(black["by_attribute"])
    return Table(("key", "rate", "kind"), tuple(rows), title=title, note=note, bars=frozenset({"rate"}))


def _reasons(rows: Any) -> str:
    """Return why rates are missing, each reason once."""
    return "\n".join(dict.fromkeys(row["reason"] for row in rows if row.get("reason")))


def _disclosure(attack: Attack) -> list[Table]:
    tables = []
    for name, entry in attack.homogeneity["by_sensitive"].items():
        skew = attack.skewness["by_sensitive"][name]
        before = {row["release"]: row for row in skew.get("by_attribute", [])}
        rows = [_rate_row(row["release"], row, before.get(row["release"], {})) for row in entry["by_attribute"]]
        if len(rows) > 1:
            rows.insert(0, _rate_row("all together", entry, skew))
        columns, title = ("key", "rate", "in the original", "difference", "kind"), f"Homogeneity and skewness: {name}"
        tables.append(Table(columns, tuple(rows), title=title, note=_note(attack, name), bars=frozenset({"rate"})))
    return tables


def _rate_row(label: str, entry: Any, before: Any) -> tuple[Any, ...]:
    return (label, entry["value"], before.get("in_original"), before.get("difference"), entry["kind"])


def _note(attack: Attack, name: str) -> str:
    """Return in words what is certain, which knowledge would add most to it, and where belief shifts most."""
    entry = attack.homogeneity["by_sensitive"][name]
    best, belief = attack.background["by_sensitive"][name]["knowledge"][0], attack.skewness["by_sensitive"][name]["belief"]
    sure = entry["certain"]
    whose = f" of {people(sure['persons'], 'persons')}" if "persons" in sure else ""
    lines = [f"{counted(sure['records'], 'record')}{whose} disclosed for certain"]
    lines += _without_value(entry["without_value"])
    if best["newly_certain"]:
        lines.append(f"knowing who is not {best['not']} would add {counted(best['newly_certain'], 'record')}")
    if belief["ratio"] > 1.0:
        shift = f"{number(belief['prior'])} to {number(belief['posterior'])}"
        lines.append(f"belief in {belief['value']} rises from {shift} ({belief['ratio']:,.4g} times) in one class")
    if entry["value"] is None:
        lines.append(str(entry["reason"]))
    return "; ".join(lines)


def _without_value(gaps: Any) -> list[str]:
    """Say how many records have no value in a class where nobody has one, and whether that is sensitive."""
    if not gaps["records"]:
        return []
    among = "of them have" if gaps["missing_is_sensitive"] else "more have"
    counts = "which is declared sensitive" if gaps["missing_is_sensitive"] else "which is not treated as sensitive"
    return [f"{gaps['records']:,} {among} no value, like all of their class, {counts}"]


def _similarity(models: Any) -> Table:
    rows = []
    for model, section in models.items():
        for name, entry in section["by_sensitive"].items():
            if len(entry["by_attribute"]) > 1:
                rows.append((model, name, "all together", entry["plain"], entry["value"]))
            rows += [(model, name, row["release"], row["plain"], row["value"]) for row in entry["by_attribute"]]
    columns = ("partition", "sensitive", "key", "plain rate", "semantic rate")
    return Table(columns, tuple(rows), title="Similarity attack", bars=frozenset({"semantic rate"}))


def _linkage(linkage: Any) -> Table:
    ways = {name: entry for name, entry in linkage.items() if isinstance(entry, Mapping)}
    controls = any(entry.get("control") for entry in ways.values())
    counts = "people" if any("persons" in entry for entry in ways.values()) else "records"
    columns: tuple[str, ...] = ("linkage", "linked", "95% interval", "second nearest", "by chance", counts)
    columns += ("control",) if controls else ()
    rows = tuple((name.replace("_", ", "), *_linkage_row(entry))[: len(columns)] for name, entry in ways.items())
    notes = [f"{name}: {entry['reason']}" for name, entry in ways.items() if entry.get("reason")]
    notes += [
        f"{name}: compared as categories, because the release has labels instead of numbers: {listed(entry['as_categories'])}"
        for name, entry in ways.items()
        if entry.get("as_categories")
    ]
    return Table(columns, rows, title="Record linkage", note="\n".join(notes), bars=frozenset({"linked"}))


def _linkage_row(entry: Any) -> tuple[Any, ...]:
    """Return a way's figures; interval disclosure links nothing, its share of values disclosed is in the same place."""
    bounds = entry.get("interval")
    shown = None if bounds is None else f"{number(bounds['low'])} to {number(bounds['high'])}"
    linked = entry.get("linked", entry.get("value"))
    control = (entry.get("control") or {}).get("value")
    if "persons" in entry:
        return (linked, shown, None, entry["baseline"], entry["persons"], control)
    return (linked, shown, entry.get("linked_second"), entry.get("baseline"), entry.get("records"), control)


def _notes(attack: Attack) -> list[str]:
    notes = []
    if attack.alignment is None:
        notes.append("No correspondence of records is named; attacks that need one were not made (`id`, `link` or `same_order`).")
        notes += synthetic_notes(attack.synthetic)
    else:
        alignment = attack.alignment.to_dict()
        notes.append(
            f"{counted(alignment['aligned'], 'record')} aligned by {alignment['by']}; {alignment['dropped']:,} of the original "
            f"not released, {alignment['added']:,} of the release without an original."
        )
    unit = unit_of(attack.made.person)
    notes += _known(attack.identity["known"], unit) + _grey_box(attack.identity["grey_box"], unit) + _new(attack)
    if unit == "persons":
        notes.append(
            "Unique, certainly disclosed and linked count people: an intruder knows the one record of a person that "
            "says most. Rates count records."
        )
    if attack.made.dropped:
        notes.append(f"{counted(attack.made.dropped, 'record')} of the release with a null in a named column left out.")
    if attack.suppressed:
        notes.append(
            f"{counted(attack.suppressed, 'record')} of the release without any key value: one class in the rates; not among the "
            "unique, the certainly disclosed and the classes in which belief shifts."
        )
    if attack.skewness["by_sensitive"]:
        notes.append(
            "Skewness is the rate in the original minus that in the release; it is not a risk and not part of the global mean."
        )
    return notes


def _new(attack: Attack) -> list[str]:
    counts = {row["release"]: row["new"] for row in attack.identity["white_box"]["by_attribute"]}
    counts |= {name: entry["new"] for name, entry in attack.skewness["by_sensitive"].items()}
    novelties = [
        f"{name} ({counted(new['values'], 'value')}, {counted(new['records'], 'record')})"
        for name, new in counts.items()
        if new and new["values"]
    ]
    return (
        [f"New in the release, neither original values nor generalisations of them: {', '.join(novelties)}."] if novelties else []
    )


def _known(known: Any, unit: Unit) -> list[str]:
    if known["k_known"] is None:
        return []
    sentence = (
        f"Someone who knows a person's true key finds {known['k_known']:,} or more {_fitting(unit)} fit it, and exactly one "
        f"for {known['covered_once']:,} of {counted(known['records'], 'record')}."
    )
    return [sentence]


def _fitting(unit: Unit) -> str:
    return "people whose release records" if unit == "persons" else "release records that"


def _grey_box(grey: Any, unit: Unit) -> list[str]:
    if grey is None:
        return []
    if structure := grey.get("structure"):
        inside, linked = (f"{structure[name]:.2%}" for name in ("inside", "linked"))
        by_chance, by_guess = (f"{structure[name]:.2%}" for name in ("inside_baseline", "baseline"))
        sentence = (
            f"Grey box, no column in common: by structure alone {inside} of the release have their external record in the "
            f"matched cluster (by chance {by_chance}), and {linked} are linked to it (by chance {by_guess})."
        )
        return [sentence]
    rows = (
        f"Grey box, by {' + '.join(grey['common'])}: of {counted(grey['external_records'], 'external record')} "
        f"{grey['matched']:,} may belong to some {noun(unit, one=True)} of the release, {grey['matched_once']:,} to only one; "
        f"a guess among them is right for {grey['expected_share']:.2%} of them at best."
    )
    return [rows]
