"""What does an experiment give? Figures beside the printed ones, why they differ, and whether the conclusions hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil import __version__
from unveil.models.asked import AnyModel
from unveil.partitions import Hierarchy
from unveil.results import Figure, Result, Table, View, jsonable
from unveil.search.anonymize import anonymize
from unveil.search.release import Release
from unveil.sources import datasets

__all__ = ["SUPPRESSION", "Conclusion", "Experiment", "Experiments", "Finding", "Step", "described", "released"]

SUPPRESSION = 0.05
"""The share of the records that the releases may suppress; the thesis suppresses too, and does not print how many."""

Step = Callable[[], Any]
"""Called when a part of an experiment is done."""

_NUMBERS = ("published", "computed", "difference")
_COLUMNS = ("figure", "of", "release", *_NUMBERS, "why")


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure.

    Attributes
    ----------
    figure, of, release
        Which figure, of which attribute, value or setting, in which release.
    computed
        What comes out; None where the release does not hold what it is of, or it is undefined.
    published, why
        What is printed, and why it is not the same; None where it is only drawn or not given at all.
    """

    figure: str
    of: str
    release: str
    computed: float | None
    published: float | None = None
    why: str | None = None

    @property
    def difference(self) -> float | None:
        """The computed figure minus the printed one."""
        return None if self.computed is None or self.published is None else self.computed - self.published

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {name: jsonable(getattr(self, name)) for name in _COLUMNS}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a document concludes, whether it holds here, and by which figures."""

    says: str
    holds: bool
    evidence: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"says": self.says, "holds": self.holds, "evidence": self.evidence}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Experiment(Result):
    """One experiment of a document, done again.

    Attributes
    ----------
    name, title, source
        A word to name it by, what it is about, and where it is printed.
    theirs, ours
        What the document did, as far as it is printed, and what is done here.
    findings
        Every figure, the printed ones among them.
    conclusions
        What the document concludes.
    releases
        For each release its models, the level of every attribute, and the suppressed records.
    notes
        What else a reader should know.
    """

    name: str
    title: str
    source: str
    theirs: str
    ours: str
    findings: tuple[Finding, ...]
    conclusions: tuple[Conclusion, ...]
    releases: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line: how much there is to compare."""
        printed = sum(one.published is not None for one in self.findings)
        held = sum(one.holds for one in self.conclusions)
        return (
            f"Experiment({self.name}: {len(self.findings)} figures, {printed} of them printed; "
            f"{held} of {len(self.conclusions)} conclusions hold)"
        )

    def value(self, figure: str, of: str, release: str) -> float | None:
        """Return one computed figure."""
        return next(one.computed for one in self.findings if (one.figure, one.of, one.release) == (figure, of, release))

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
        """Return what a person should see: printed beside computed, the conclusions, then all figures by release."""
        figures = (Figure("printed in", self.source), Figure("they", self.theirs), Figure("we", self.ours))
        tables = [_printed(self.findings), _concluded(self.conclusions)]
        tables += [_by_release(name, self.findings) for name in dict.fromkeys(one.figure for one in self.findings)]
        reasons = dict.fromkeys(one.why for one in self.findings if one.why)
        shown = tuple(table for table in tables if table.rows)
        return View(self.title, figures, shown, (*reasons, *self.notes, *_made(self.releases)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Experiments(Result):
    """The documents' experiments on Adult, done again."""

    experiments: tuple[Experiment, ...]

    def __repr__(self) -> str:
        """Return one line: how many there are, and how much of what they conclude holds."""
        found = [one for experiment in self.experiments for one in experiment.conclusions]
        return f"Experiments({len(self.experiments)}; {sum(one.holds for one in found)} of {len(found)} conclusions hold)"

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
        """Return what a person should see: how it went in all, then every experiment."""
        rows = tuple(
            (one.title, sum(f.published is not None for f in one.findings), sum(c.holds for c in one.conclusions),
             len(one.conclusions))
            for one in self.experiments
        )  # fmt: skip
        table = Table(("experiment", "printed figures", "conclusions that hold", "of"), rows)
        return View("The documents' experiments on Adult", (), (table,), parts=tuple(one.view() for one in self.experiments))


def released(
    keys: Sequence[str],
    sensitive: str,
    models: Mapping[str, Sequence[AnyModel]],
    trees: Mapping[str, Hierarchy],
    **options: Any,
) -> dict[str, Release]:
    """Return a release of Adult for each requirement, its records in the order of the data."""
    data = datasets.adult().select([*keys, sensitive])
    return {
        name: anonymize(data, {key: trees[key] for key in keys}, asked, keep_order=True, **options)
        for name, asked in models.items()
    }


def described(releases: Mapping[str, Release]) -> dict[str, dict[str, Any]]:
    """Return what was done for each release."""
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


def _columns(findings: Sequence[Finding]) -> dict[str, Sequence[Any]]:
    """Return one row per figure; counts become decimals, for a column has one type."""
    found: dict[str, Sequence[Any]] = {name: [getattr(one, name) for one in findings] for name in _COLUMNS}
    numbers = {name: [None if value is None else float(value) for value in found[name]] for name in _NUMBERS}
    return found | numbers


def _printed(findings: Sequence[Finding]) -> Table:
    found = [one for one in findings if one.published is not None]
    rows = tuple((one.figure, one.of, one.release, str(one.published), one.computed, one.difference) for one in found)
    return Table(("figure", "of", "release", "printed", "computed", "difference"), rows, title="Printed and computed")


def _concluded(conclusions: Sequence[Conclusion]) -> Table:
    rows = tuple((one.says, "yes" if one.holds else "no", one.evidence) for one in conclusions)
    return Table(("the document concludes", "holds here", "by"), rows, title="Conclusions")


def _by_release(figure: str, findings: Sequence[Finding]) -> Table:
    """Return one kind of figure, a column for each release."""
    cells = {(one.of, one.release): one.computed for one in findings if one.figure == figure}
    names, columns = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    rows = tuple((name, *(cells.get((name, column)) for column in columns)) for name in names)
    return Table(("of", *columns), rows, title=figure)


def _made(releases: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Say how each release came about."""
    found = []
    for name, one in releases.items():
        levels = ", ".join(f"{key} {level} of {one['heights'][key]}" for key, level in one["levels"].items())
        found.append(f"Levels under {name}: {levels}; {one['suppressed']:,} of {one['records']:,} records suppressed.")
    return found
