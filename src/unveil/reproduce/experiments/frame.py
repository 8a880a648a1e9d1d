"""The frame of an experiment: figures beside the printed ones, the reasons for differences, and whether conclusions hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

from unveil import __version__
from unveil.formats import jsonable
from unveil.models import Model
from unveil.partitions import Hierarchy
from unveil.protect.anonymize import anonymize
from unveil.releases import Release
from unveil.results import Figure, Result, Table, View
from unveil.sources import datasets

__all__ = [
    "KEPT",
    "LEFT_OUT",
    "READINGS",
    "SUPPRESSION",
    "Conclusion",
    "Experiment",
    "ExperimentFigure",
    "Experiments",
    "Step",
    "alike",
    "described",
    "read",
    "released",
]

SUPPRESSION = 0.05
"""The share of the records that the releases may suppress; the thesis suppresses too, and does not print how many."""

KEPT, LEFT_OUT = "kept", "left out"
READINGS = (KEPT, LEFT_OUT)
"""The treatment of suppressed records before a release is measured: they stay, as a class of `*`, or they are left out."""

Step = Callable[[], Any]
"""Called when a part of an experiment is done."""

_NUMBERS = ("published", "computed", "difference")
_COLUMNS = ("figure", "of", "release", "suppressed", *_NUMBERS, "why")


@dataclass(frozen=True, slots=True)
class ExperimentFigure:
    """One figure.

    Attributes
    ----------
    figure, of, release
        Which figure, of which attribute, value or setting, in which release.
    computed
        The result; None if it is undefined, or if the release lacks the attribute or value.
    published, why
        The printed figure, and the reason why it differs; None if the figure is only plotted or not given at all.
    suppressed
        Whether suppressed records are "kept" in the release or "left out".
    """

    figure: str
    of: str
    release: str
    computed: float | None
    published: float | None = None
    why: str | None = None
    suppressed: str = KEPT

    @property
    def difference(self) -> float | None:
        """The computed figure minus the printed one."""
        return None if self.computed is None or self.published is None else self.computed - self.published

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {name: jsonable(getattr(self, name)) for name in _COLUMNS}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A conclusion of a document, whether it holds here, and the figures as evidence."""

    says: str
    holds: bool
    evidence: str
    suppressed: str = KEPT

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"says": self.says, "holds": self.holds, "evidence": self.evidence, "suppressed": self.suppressed}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Experiment(Result):
    """One experiment of a document, repeated.

    Attributes
    ----------
    name, title, source
        Its short name, its subject, and where it is printed.
    theirs, ours
        The procedure of the document, as far as it is printed, and the procedure here.
    findings
        Every figure, including the printed ones.
    conclusions
        The conclusions of the document.
    releases
        For each release its models, the level of every attribute, and the suppressed records.
    notes
        Further notes for the reader.
    """

    name: str
    title: str
    source: str
    theirs: str
    ours: str
    findings: tuple[ExperimentFigure, ...]
    conclusions: tuple[Conclusion, ...]
    releases: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line: the number of figures, and of conclusions that hold."""
        printed = sum(one.published is not None for one in self.findings)
        return f"Experiment({self.name}: {len(self.findings)} figures, {printed} of them printed; {_held(self.conclusions)})"

    def value(self, figure: str, of: str, release: str, suppressed: str = KEPT) -> float | None:
        """Return one computed figure."""
        place = (figure, of, release, suppressed)
        return next(one.computed for one in self.findings if (one.figure, one.of, one.release, one.suppressed) == place)

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "theirs": self.theirs,
            "ours": self.ours,
            "figures": [one.to_dict() for one in self.findings],
            "conclusions": [one.to_dict() for one in self.conclusions],
            "releases": jsonable(self.releases),
            "notes": list(self.notes),
            "version": __version__,
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per figure."""
        return _columns(self.findings)

    def view(self) -> View:
        """Return the displayed results: printed beside computed, the conclusions, then all figures by release."""
        figures = (Figure("printed in", self.source), Figure("they", self.theirs), Figure("we", self.ours))
        tables = [_printed(self.findings), _concluded(self.conclusions)]
        tables += [_by_release(name, self.findings) for name in dict.fromkeys(one.figure for one in self.findings)]
        reasons = dict.fromkeys(one.why for one in self.findings if one.why)
        shown = tuple(table for table in tables if table.rows)
        return View(self.title, figures, shown, (*reasons, *self.notes, *_made(self.releases)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Experiments(Result):
    """The documents' experiments on Adult, repeated."""

    experiments: tuple[Experiment, ...]

    def __repr__(self) -> str:
        """Return one line: the number of experiments, and of conclusions that hold."""
        return f"Experiments({len(self.experiments)}; {_held([one for each in self.experiments for one in each.conclusions])})"

    def __getitem__(self, name: str) -> Experiment:
        """Return an experiment by its name."""
        return {experiment.name: experiment for experiment in self.experiments}[name]

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {"experiments": [experiment.to_dict() for experiment in self.experiments]}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per figure."""
        names = [experiment.name for experiment in self.experiments for _ in experiment.findings]
        return {"experiment": names, **_columns([one for experiment in self.experiments for one in experiment.findings])}

    def view(self) -> View:
        """Return the displayed results: the outcome as a whole, then every experiment."""
        rows = tuple(
            (one.title, sum(f.published is not None for f in one.findings),
             *(len(_holding(one.conclusions, reading)) for reading in READINGS), len(_says(one.conclusions)))
            for one in self.experiments
        )  # fmt: skip
        table = Table(("experiment", "printed figures", "conclusions that hold", "suppressed left out", "of"), rows)
        return View("The documents' experiments on Adult", (), (table,), parts=tuple(one.view() for one in self.experiments))


def released(
    keys: Sequence[str],
    sensitive: str,
    models: Mapping[str, Sequence[Model]],
    by_key: Mapping[str, Hierarchy],
    **options: Any,
) -> dict[str, Release[Any]]:
    """Return a release of Adult for each requirement, with its records in the order of the data."""
    data = datasets.adult().select([*keys, sensitive])
    return {
        name: anonymize(data, {key: by_key[key] for key in keys}, required, keep_order=True, **options)
        for name, required in models.items()
    }


def read(release: Release[Any], suppressed: str) -> tuple[Any, Any]:
    """Return a release's records, with or without the suppressed ones, and a mask of the corresponding records of the data."""
    gone: Any = reduce(and_, (release.data[key] == "*" for key in release.transformation))
    kept = ~gone if suppressed == LEFT_OUT else gone | ~gone
    return release.data.filter(kept), kept


def alike(releases: Mapping[str, Release[Any]]) -> str:
    """Return a sentence on whether the levels of the releases are the same."""
    levels = {name: tuple(release.transformation.items()) for name, release in releases.items()}
    gone = ", ".join(f"{release.suppressed:,} in {name}" for name, release in releases.items())
    if len(set(levels.values())) == 1:
        return f"The releases have the same levels and differ only in the suppressed records: {gone}."
    one, other = list(releases.values())[:2]
    differing = [key for key in one.transformation if one.transformation[key] != other.transformation[key]]
    differences = ", ".join(f"{key} ({one.transformation[key]} and {other.transformation[key]})" for key in differing)
    names = " and ".join(list(releases)[:2])
    return f"{names} differ in the levels of {differences or 'no attribute'}, and in the suppressed records: {gone}."


def described(releases: Mapping[str, Release[Any]]) -> dict[str, dict[str, Any]]:
    """Return the transformation of each release."""
    return {
        name: {
            "models": release.settings["models"],
            "levels": dict(release.transformation),
            "heights": dict(release.heights),
            "suppressed": release.suppressed,
            "records": release.records.records,
        }
        for name, release in releases.items()
    }


def _columns(findings: Sequence[ExperimentFigure]) -> dict[str, Sequence[Any]]:
    """Return one row per figure; counts become decimals, because a column has one type."""
    columns: dict[str, Sequence[Any]] = {name: [getattr(one, name) for one in findings] for name in _COLUMNS}
    numbers = {name: [None if value is None else float(value) for value in columns[name]] for name in _NUMBERS}
    return columns | numbers


def _printed(findings: Sequence[ExperimentFigure]) -> Table:
    published = [one for one in findings if one.published is not None]
    rows = tuple((one.figure, one.of, one.release, str(one.published), one.computed, one.difference) for one in published)
    return Table(("figure", "of", "release", "printed", "computed", "difference"), rows, title="Printed and computed")


def _concluded(conclusions: Sequence[Conclusion]) -> Table:
    readings = [reading for reading in READINGS if any(one.suppressed == reading for one in conclusions)]
    rows = []
    for says in _says(conclusions):
        own = {one.suppressed: one for one in conclusions if one.says == says}
        answers = tuple(_answer(own.get(reading) or own[KEPT]) for reading in readings)
        rows.append((says, *answers))
    heads = ("holds here",) if len(readings) == 1 else tuple(f"holds, suppressed {reading}" for reading in readings)
    return Table(("the document concludes", *heads), tuple(rows), title="Conclusions")


def _answer(conclusion: Conclusion) -> str:
    return f"{'yes' if conclusion.holds else 'no'}: {conclusion.evidence}"


def _says(conclusions: Sequence[Conclusion]) -> list[str]:
    return list(dict.fromkeys(one.says for one in conclusions))


def _holding(conclusions: Sequence[Conclusion], suppressed: str) -> list[str]:
    """Return the conclusions that hold under a reading; if there is only one reading, it counts for both."""
    own = {one.says: one.holds for one in conclusions if one.suppressed == KEPT}
    own |= {one.says: one.holds for one in conclusions if one.suppressed == suppressed}
    return [says for says, holds in own.items() if holds]


def _held(conclusions: Sequence[Conclusion]) -> str:
    kept, left = (len(_holding(conclusions, reading)) for reading in READINGS)
    more = f", {left} with suppressed records left out" if any(one.suppressed == LEFT_OUT for one in conclusions) else ""
    return f"{kept} of {len(_says(conclusions))} conclusions hold{more}"


def _by_release(figure: str, findings: Sequence[ExperimentFigure]) -> Table:
    """Return one kind of figure, with a column for each release."""
    cells = {
        (one.of, one.release if one.suppressed == KEPT else f"{one.release}, {LEFT_OUT}"): one.computed
        for one in findings
        if one.figure == figure
    }
    names, columns = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    rows = tuple((name, *(cells.get((name, column)) for column in columns)) for name in names)
    return Table(("of", *columns), rows, title=figure)


def _made(releases: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return sentences on how each release was made."""
    notes = []
    for name, one in releases.items():
        levels = ", ".join(f"{key} {level} of {one['heights'][key]}" for key, level in one["levels"].items())
        notes.append(f"Levels under {name}: {levels}; {one['suppressed']:,} of {one['records']:,} records suppressed.")
    return notes
