"""The view of an attack: the gain of each on one scale, then attribute by attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unveil.attacks.attack_sections import Difference, StructureMatches
from unveil.attacks.linkage.linkage_sections import DistanceMatches, IntervalMatches, NoMatches
from unveil.attacks.synthetic.audit_view import synthetic_notes, synthetic_tables
from unveil.errors import listed
from unveil.formats import counted, number, people
from unveil.results import Between, Figure, Table, View

if TYPE_CHECKING:
    from unveil.attacks.attack import Attack
    from unveil.attacks.attack_sections import (
        BlackBox,
        ExternalMatches,
        KnownRecords,
        NoDifference,
        SimilarityModel,
        WhiteBox,
        WhiteBoxMeaning,
        WithoutValue,
    )
    from unveil.attacks.linkage.linkage_sections import RecordLinkage
    from unveil.measures import RateFigures

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
_WAYS = ("euclidean", "mahalanobis", "mixed", "interval_rank", "interval_deviation", "probabilistic", "known_method")
"""The ways of linking, in the order of display."""


def view_of(attack: Attack) -> View:
    """Return the risks, a table for each attack, and remarks."""
    audited, persons, overall = attack.synthetic.control is not None, attack.made.person is not None, attack.overall.figures
    figures = [Figure(_called(name), risk, _MEANING[name]) for name, risk in overall.risk.items() if risk is not None]
    if not audited and overall.overall_information_loss is not None:
        figures.append(Figure("information loss", overall.overall_information_loss, "overall: the mean of 1 - risk"))
    if (known := attack.linkage.known_method) is not None:
        counts = "people" if persons else "records"
        figures.append(Figure("linked", known.linked, f"{counts} found again by an intruder who knows the method"))
    black, white = attack.identity.black_box, attack.identity.white_box
    share = f"{black.share_unique:.2%} of {'all people' if persons else counted(attack.made.records, 'record')}"
    figures.append(Figure("unique in release", black.uniques, share))
    tables = synthetic_tables(attack.synthetic) if audited else [_white_box(white)]
    tables += [_by_meaning(white.by_model), _black_box(black), *_disclosure(attack)]
    tables += [_similarity(attack.similarity), _linkage(attack.linkage)]
    return View("What an intruder gains", tuple(figures), tuple(table for table in tables if table.rows), tuple(_notes(attack)))


def _called(name: str) -> str:
    return "Discrimination Rate" if name == "discrimination_rate" else f"{name.replace('_', ' ')} risk"


def _white_box(white_box: WhiteBox) -> Table:
    rows = [(row.attribute, row.release, row.rate.value, row.rate.kind) for row in white_box.by_attribute]
    combined = white_box.combined
    if len(rows) > 1 and combined.value is not None:
        rows.insert(0, ("all together", "all together", combined.value, combined.kind))
    columns = ("original", "protected", "rate", "kind")
    note = _reasons([row.rate for row in white_box.by_attribute])
    return Table(columns, tuple(rows), title="Identity attack, white box", note=note, bars=frozenset({"rate"}))


def _by_meaning(models: Mapping[str, WhiteBoxMeaning]) -> Table:
    measured = [(model, row) for model, section in models.items() for row in section.by_attribute if row.plain is not None]
    rows = [(model, row.attribute, row.release, row.plain, row.rate.value) for model, row in measured]
    columns = ("partition", "original", "protected", "plain rate", "semantic rate")
    title, note = "Identity attack, white box, by meaning", _reasons([row.rate for _, row in measured])
    return Table(columns, tuple(rows), title=title, note=note, bars=frozenset({"semantic rate"}))


def _black_box(black: BlackBox) -> Table:
    rows = [(row.release, row.rate.value, row.rate.kind) for row in black.by_attribute]
    if len(rows) > 1:
        rows.insert(0, ("all together", black.rate.value, black.rate.kind))
    title, note = "Identity attack, black box: record identity", _reasons([row.rate for row in black.by_attribute])
    return Table(("key", "rate", "kind"), tuple(rows), title=title, note=note, bars=frozenset({"rate"}))


def _reasons(rates: Sequence[RateFigures]) -> str:
    """Return the reasons why rates are missing, each reason once."""
    return "\n".join(dict.fromkeys([rate.reason for rate in rates if rate.reason]))


def _disclosure(attack: Attack) -> list[Table]:
    tables = []
    for name, entry in attack.homogeneity.by_sensitive.items():
        skew = attack.skewness.by_sensitive[name]
        before = {row.release: row.figures for row in skew.by_attribute or ()}
        rows = [_rate_row(row.release, row.rate, before.get(row.release)) for row in entry.by_attribute]
        if len(rows) > 1:
            rows.insert(0, _rate_row("all together", entry.rate, skew.figures))
        columns, title = ("key", "rate", "in the original", "difference", "kind"), f"Homogeneity and skewness: {name}"
        tables.append(Table(columns, tuple(rows), title=title, note=_note(attack, name), bars=frozenset({"rate"})))
    return tables


def _rate_row(label: str, rate: RateFigures, before: Difference | NoDifference | None) -> tuple[Any, ...]:
    in_original = before.in_original if isinstance(before, Difference) else None
    return (label, rate.value, in_original, None if before is None else before.difference, rate.kind)


def _note(attack: Attack, name: str) -> str:
    """Return, in words, what is certain, which knowledge would add most to it, and where belief shifts most."""
    entry, sure = attack.homogeneity.by_sensitive[name], attack.homogeneity.by_sensitive[name].certain
    best, belief = attack.background.by_sensitive[name].knowledge[0], attack.skewness.by_sensitive[name].belief
    whose = "" if sure.persons is None else f" of {people(sure.persons, 'persons')}"
    lines = [f"{counted(sure.records, 'record')}{whose} disclosed for certain"]
    lines += _without_value(entry.without_value)
    if best["newly_certain"]:
        lines.append(f"knowing who is not {best['not']} would add {counted(best['newly_certain'], 'record')}")
    if belief.ratio > 1.0:
        shift = f"{number(belief.prior)} to {number(belief.posterior)}"
        lines.append(f"belief in {belief.value} rises from {shift} ({belief.ratio:,.4g} times) in one class")
    if entry.rate.value is None:
        lines.append(entry.rate.reason)
    return "; ".join(lines)


def _without_value(gaps: WithoutValue) -> list[str]:
    """Return, in words, how many records have no value in a class where nobody has one, and whether that is sensitive."""
    if not gaps.counted.records:
        return []
    among = "of them have" if gaps.missing_is_sensitive else "more have"
    counts = "which is declared sensitive" if gaps.missing_is_sensitive else "which is not treated as sensitive"
    return [f"{gaps.counted.records:,} {among} no value, like all of their class, {counts}"]


def _similarity(models: Mapping[str, SimilarityModel]) -> Table:
    rows = []
    for model, section in models.items():
        for name, entry in section.by_sensitive.items():
            if len(entry.by_attribute) > 1:
                rows.append((model, name, "all together", entry.rate.plain, entry.rate.rate.value))
            rows += [(model, name, row.release, row.rate.plain, row.rate.rate.value) for row in entry.by_attribute]
    columns = ("partition", "sensitive", "key", "plain rate", "semantic rate")
    return Table(columns, tuple(rows), title="Similarity attack", bars=frozenset({"semantic rate"}))


def _linkage(linkage: RecordLinkage) -> Table:
    ways = {name: way for name in _WAYS if (way := getattr(linkage, name)) is not None}
    controls = any(getattr(way, "control", None) for way in ways.values())
    counts = "people" if any(getattr(way, "persons", None) is not None for way in ways.values()) else "records"
    columns: tuple[str, ...] = ("linkage", "linked", "95% interval", "second nearest", "by chance", counts)
    columns += ("control",) if controls else ()
    rows = [(name.replace("_", ", "), *_linkage_row(way))[: len(columns)] for name, way in ways.items()]
    notes = [f"{name}: {way.reason}" for name, way in ways.items() if isinstance(way, NoMatches)]
    notes += [
        f"{name}: compared as categories, because the release has labels instead of numbers: {listed(way.as_categories)}"
        for name, way in ways.items()
        if isinstance(way, DistanceMatches) and way.as_categories
    ]
    return Table(columns, tuple(rows), title="Record linkage", note="\n".join(notes), bars=frozenset({"linked"}))


def _linkage_row(way: Any) -> tuple[Any, ...]:
    """Return the figures of a way; interval disclosure links nothing, so its share of disclosed values takes that place."""
    if isinstance(way, NoMatches):
        return (None, None, None, None, None, None)
    if isinstance(way, IntervalMatches):
        return (way.value, None, None, way.baseline, way.records, None)
    bounds, control = Between(way.interval.low, way.interval.high), getattr(way, "control", None)
    second = getattr(way, "linked_second", None) if way.persons is None else None
    counts = way.records if way.persons is None else way.persons
    return (way.linked, bounds, second, way.baseline, counts, None if control is None else control.value)


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
    persons = attack.made.person is not None
    notes += _known(attack.identity.known, persons=persons) + _grey_box(attack.identity.grey_box, persons=persons) + _new(attack)
    if persons:
        notes.append(
            "Unique, certainly disclosed and linked count people: an intruder knows the one record of a person that "
            "says most. Rates count records."
        )
    if attack.made.dropped:
        notes.append(f"{counted(attack.made.dropped, 'record')} of the release with a null in a named column left out.")
    if attack.suppressed:
        notes.append(
            f"{counted(attack.suppressed, 'record')} of the release without any key value: counted as one class in the rates, "
            "and left out of the uniques, the certain disclosures and the classes in which belief shifts."
        )
    if attack.skewness.by_sensitive:
        notes.append(
            "Skewness is the rate in the original minus that in the release; it is not a risk and not part of the global mean."
        )
    return notes


def _new(attack: Attack) -> list[str]:
    counts = {row.release: row.new for row in attack.identity.white_box.by_attribute}
    counts |= {name: entry.new for name, entry in attack.skewness.by_sensitive.items()}
    novelties = [
        f"{name} ({counted(new.distinct, 'value')}, {counted(new.records, 'record')})"
        for name, new in counts.items()
        if new is not None and new.distinct
    ]
    return (
        [f"New in the release, neither original values nor generalisations of them: {', '.join(novelties)}."] if novelties else []
    )


def _known(known: KnownRecords, *, persons: bool) -> list[str]:
    if known.k_known is None or known.records is None:
        return []
    fitting = "people whose release records" if persons else "release records that"
    sentence = (
        f"Someone who knows a person's true key finds {known.k_known:,} or more {fitting} fit it, and exactly one "
        f"for {known.covered_once:,} of {counted(known.records, 'record')}."
    )
    return [sentence]


def _grey_box(grey: ExternalMatches | StructureMatches | None, *, persons: bool) -> list[str]:
    if grey is None:
        return []
    if isinstance(grey, StructureMatches):
        inside, linked = [f"{grey.structure[name]:.2%}" for name in ("inside", "linked")]
        by_chance, by_guess = [f"{grey.structure[name]:.2%}" for name in ("inside_baseline", "baseline")]
        sentence = (
            f"Grey box, no column in common: by structure alone {inside} of the release have their external record in the "
            f"matched cluster (by chance {by_chance}), and {linked} are linked to it (by chance {by_guess})."
        )
        return [sentence]
    rows = (
        f"Grey box, by {' + '.join(grey.common)}: of {counted(grey.external_records, 'external record')} "
        f"{grey.matched:,} may belong to some {'person' if persons else 'record'} of the release, {grey.matched_once:,} to only "
        f"one; a guess among them is right for {grey.expected_share:.2%} of them at best."
    )
    return [rows]
