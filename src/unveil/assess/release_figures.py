"""The figures of one release: its privacy and its utility, each a number or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from unveil.attacks.attack import attack
from unveil.attributes import require_columns
from unveil.errors import ArgumentError, ColumnNotFoundError, MissingExtraError, UnveilError, listed, shown
from unveil.models import Measurement, MeasureOptions, figure_models, measured_study, rule_model
from unveil.project import Need
from unveil.run import active_run
from unveil.sources import Data, require_order
from unveil.study import Study
from unveil.utility import Task, check_draw, pmse, utility
from unveil.utility.loss import loss
from unveil.utility.tasks import tasks as try_tasks

__all__ = ["LOSSES", "MEANING", "PRIVACY", "Axis", "ComparedRelease", "FigureRequest", "FigureValues", "Pairing", "Shared"]

FigureValues: TypeAlias = dict[str, float | str]
"""Figures by name; a text instead of a figure is the reason why there is none."""

PRIVACY: Mapping[str, bool] = {"prosecutor": False, "k": True, "l": True, "t": False, "attack": False}
"""The figures of privacy, and whether higher is safer; every model with one figure for a table is also one."""

_MODELS: Mapping[str, tuple[str, ...]] = {
    "k": ("k_anonymity",),
    "l": ("distinct_l_diversity",),
    "t": ("t_closeness", "equal"),
}
"""The models behind the short names, and the rest of their place in an answer; any other model has its own name."""

LOSSES: Mapping[str, tuple[str, ...]] = {
    "il1s": ("continuous", "il1s"),
    "nominal": ("categorical", "nominal"),
    "ordinal": ("categorical", "ordinal"),
    "entropy_loss": ("categorical", "entropy_loss"),
    "granularity": ("categorical", "granularity"),
    "precision": ("categorical", "precision"),
    "ncp": ("categorical", "ncp"),
    "nonuniform_entropy": ("categorical", "nonuniform_entropy"),
    "discernibility": ("classes", "discernibility", "loss"),
    "average_class_size": ("classes", "average_class_size", "loss"),
    "suppressed": ("suppressed", "share_of_cells"),
    "pmse": (),
}
"""The losses (lower is better), and the place of each in the answer of `unveil.loss`; pMSE has a call of its own."""

MEANING: Mapping[str, str] = {
    "prosecutor": "mean risk of the records: one over the size of their class",
    "k": "records in the smallest class",
    "l": "fewest sensitive values in a class",
    "t": "largest distance of a class from the whole table, from 0 to 1",
    "attack": "share of the information that an intruder gains, from 0 to 1",
    "il1s": "mean change of the numbers, in standard deviations",
    "nominal": "share of cells that changed",
    "ordinal": "mean change of cells, as a share of the range of ranks",
    "entropy_loss": "share of the information in the cells that is lost",
    "granularity": "mean share of a column's values that a cell could be",
    "precision": "mean height of cells in their hierarchy, as a share of its height",
    "ncp": "mean share of a column's range that a cell covers",
    "nonuniform_entropy": "share of the information in the cells that is lost, by how frequent values are",
    "discernibility": "records that each record cannot be distinguished from, as a share of all",
    "average_class_size": "mean size of the classes, as a share of all records",
    "suppressed": "share of cells that are suppressed or left out",
    "pmse": "how well records of the release are distinguished from original ones; 0: not at all",
}
"""The meaning of each figure, and the base of each share."""
_NEED = "share of the target's uncertainty that the given columns remove"
_TASK = "what a model learnt from the release gets right on original records"
_NOT_FROM_ZERO = ("discernibility", "average_class_size")
"""Losses that are also defined for the original."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A figure by which releases are compared.

    Attributes
    ----------
    name, about, higher_is_better
        Its name, its subject, and which direction is better.
    meaning
        The meaning of the figure, and the base of a share.
    required
        The requirement of a policy or a need; None: there is none.
    """

    name: str
    about: Literal["privacy", "utility"]
    higher_is_better: bool
    meaning: str = ""
    required: float | None = None

    @property
    def direction(self) -> str:
        """The better direction, in words."""
        good = "safer" if self.about == "privacy" else "better"
        return f"{'higher' if self.higher_is_better else 'lower'} is {good}"


@dataclass(frozen=True, slots=True)
class Pairing:
    """The correspondence of records for each release: by an id, a correspondence file, or the same order."""

    identity: str | None
    link: Mapping[str, Data]
    same_order: tuple[str, ...]

    def check(self, original: Data, releases: Mapping[str, Data]) -> None:
        """Refuse statements about a release that does not exist, and row numbers of tables that have no order."""
        for name in (*self.link, *self.same_order):
            if name not in releases:
                raise ArgumentError.not_one_of("the release", name, list(releases))
            require_order(original, releases[name])
        if self.identity is not None and releases and all(name in (*self.link, *self.same_order) for name in releases):
            raise ArgumentError("an id is named, but every release has a correspondence of its own; leave the id out.")

    def of(self, name: str) -> dict[str, Any]:
        """Return the arguments for one release; a statement about that release takes precedence over the id."""
        own = {"link": self.link[name]} if name in self.link else {}
        own |= {"same_order": True} if name in self.same_order else {}
        return own or {"id": self.identity}


@dataclass(frozen=True)
class Shared:
    """The columns that releases share, so that all are compared by the same columns.

    Attributes
    ----------
    held
        The columns of the original that some release holds, without the id; losses are computed over these.
    everywhere
        Those that every release holds; pMSE is computed over these.
    tables
        The original and the releases.
    """

    held: tuple[str, ...]
    everywhere: tuple[str, ...]
    tables: tuple[Study, ...]

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The columns of `held` that are not numeric in every table; the records are read to determine this."""
        names = []
        for name in self.held:
            kinds = [table.collected([name])[name].dtype for table in self.tables if name in table.names]
            if not all(kind.is_numeric() for kind in kinds):
                names.append(name)
        return tuple(names)

    @classmethod
    def of(cls, original: Study, releases: Mapping[str, Study], identity: str | None) -> Shared:
        """Return the columns that the tables share, refusing a release that shares none with the original."""
        for name, release in releases.items():
            if not set(original.names) & set(release.names) - {identity}:
                raise ColumnNotFoundError(
                    f"the release {shown(name)} has no column in common with the original; "
                    f"its columns are: {listed(release.names)}."
                )
        tables = list(releases.values())
        held = [name for name in original.names if name != identity and any(name in table.names for table in tables)]
        everywhere = tuple(name for name in held if all(name in table.names for table in tables))
        return cls(tuple(held), everywhere, (original, *tables))


@dataclass(frozen=True, slots=True)
class ComparedRelease:
    """A release beside its original, with the columns that all releases share and the alignment of records."""

    original: Study
    release: Study
    shared: Shared
    aligned: Mapping[str, Any]
    sensitive: tuple[str, ...]

    def filled(self, *, sensitive: bool) -> Study:
        """Return the release with the columns that it lacks as nulls: an omitted column is suppressed throughout."""
        return self.release.filled(self.original, () if sensitive else self.sensitive)


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """The figures requested for every release."""

    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    privacy: tuple[str, ...]
    needs: tuple[Need, ...]
    tasks: tuple[Task, ...]
    losses: tuple[str, ...]
    folds: int
    sample: int | None
    seed: int
    required: Mapping[str, float] = field(default_factory=dict)

    def axes(self) -> tuple[Axis, ...]:
        """Return the requested figures in order, refusing unknown ones."""
        models = figure_models()
        known_privacy = [*PRIVACY, *models]
        for what, chosen, known in (("privacy", self.privacy, known_privacy), ("loss", self.losses, list(LOSSES))):
            for name in chosen:
                if name not in known:
                    raise ArgumentError.not_one_of(what, name, known)
        if not self.sensitive and (about := [name for name in self.privacy if _about_sensitive(name)]):
            which = "l and t are" if about[0] in PRIVACY else f"{about[0]} is"
            raise ArgumentError(f"{which} about sensitive attributes; name one.")
        served = [*(need.name for need in self.needs), *(task.name for task in self.tasks)]
        if not self.privacy or not (served or self.losses):
            raise ArgumentError("a trade-off has two sides; name a figure of privacy, and needs, tasks or losses.")
        check_draw(self.seed, self.sample)
        axes = [
            Axis(place, "privacy", *_side(name), self.required.get(place))
            for name in self.privacy
            for place in self._places(name)
        ]
        axes += [Axis(need.name, "utility", True, _NEED, need.at_least) for need in self.needs]  # noqa: FBT003 - higher is better
        axes += [Axis(task.name, "utility", True, _TASK) for task in self.tasks]  # noqa: FBT003
        axes += [Axis(name, "utility", False, MEANING[name]) for name in self.losses]  # noqa: FBT003
        names = [axis.name for axis in axes]
        if doubled := [name for name in names if names.count(name) > 1]:
            raise ArgumentError(f"two figures are called {shown(doubled[0])}; give each a name of its own.")
        return tuple(axes)

    def of_original(self, original: Study) -> FigureValues:
        """Return the figures of the original itself, except those that need an attack or a model; its losses are 0."""
        models = [place for name in self.privacy if name != "attack" for place in self._places(name)]
        itself = ComparedRelease(original, original, Shared((), (), ()), {}, self.sensitive)
        figures = _guarded(models, lambda: self._models(itself)) if models else {}
        figures |= _guarded([need.name for need in self.needs], lambda: self._needs(itself)) if self.needs else {}
        figures |= dict.fromkeys((name for name in self.losses if name not in _NOT_FROM_ZERO), 0.0)
        return figures

    def figures_of(self, name: str, pair: ComparedRelease) -> FigureValues:
        """Measure one release; its name is reported as a stage of the work, each figure as a step."""
        models = [place for name in self.privacy if name != "attack" for place in self._places(name)]
        against = [name for name in self.losses if name != "pmse"]
        groups: list[tuple[list[str], Callable[[], FigureValues]]] = [
            (models, lambda: self._models(pair)),
            (["attack"] if "attack" in self.privacy else [], lambda: self._attack(pair)),
            ([need.name for need in self.needs], lambda: self._needs(pair)),
            ([task.name for task in self.tasks], lambda: self._tasks(name, pair)),
            (against, lambda: self._losses(pair, against)),
            (["pmse"] if "pmse" in self.losses else [], lambda: self._pmse(pair)),
        ]
        total = sum(len(names) for names, _ in groups)
        figures: FigureValues = {}
        run = active_run()
        for names, read in groups:
            if names:
                run.at(name, len(figures), total)
                figures |= _guarded(names, read)
        run.at(name, total, total)
        return figures

    def _places(self, name: str) -> list[str]:
        return [f"{name} of {sensitive}" for sensitive in self.sensitive] if _about_sensitive(name) else [name]

    def _models(self, pair: ComparedRelease) -> FigureValues:
        measured = measured_study(pair.filled(sensitive=False).changed(key=self.keys, sensitive=self.sensitive), MeasureOptions())
        figures: FigureValues = {"prosecutor": float(measured.risk["prosecutor"]["average"])}
        for name in self.privacy:
            model, *distance = _MODELS.get(name, (name,))
            if _about_sensitive(name):
                figures |= {f"{name} of {one}": _value(measured, model, one, *distance) for one in self.sensitive}
            elif rule_model(model) is not None:
                figures[name] = _value(measured, model)
        return figures

    def _attack(self, pair: ComparedRelease) -> FigureValues:
        tables = pair.original, pair.filled(sensitive=False)
        overall = attack(
            *tables, self.keys, self.sensitive or None, **pair.aligned, link_records=False, seed=self.seed, partitions={}
        ).overall
        wanted = ("identity", "homogeneity") if self.sensitive else ("identity",)
        if missing := [name for name in wanted if overall["risk"][name] is None]:
            return {"attack": f"the risk of the {listed(missing)} attack is undefined, so there is no global one"}
        return {"attack": 1.0 - overall["overall_information_loss"]}

    def _needs(self, pair: ComparedRelease) -> FigureValues:
        served = utility(pair.filled(sensitive=True), self.needs).needs
        return {name: _or_reason(one.degree, one.reason) for name, one in served.items()}

    def _tasks(self, name: str, pair: ComparedRelease) -> FigureValues:
        tables = pair.original.held(), pair.filled(sensitive=True).held()
        steps = active_run().under(f"{name}: tasks")
        scores = try_tasks(
            *tables, self.tasks, **pair.aligned, folds=self.folds, sample=self.sample, seed=self.seed, progress=steps
        )
        figures: FigureValues = {}
        for task, one in scores.tasks.items():
            best = one.best()
            figures[task] = _or_reason(None if best is None else best.release.mean, one.reason)
        return figures

    def _losses(self, pair: ComparedRelease, names: Sequence[str]) -> FigureValues:
        identity = pair.aligned.get("id")
        if not any(pair.aligned.values()):  # the records need not be read
            raise ArgumentError.no_correspondence()
        require_columns([] if identity is None else [identity], pair.original.names)
        wanted = [*pair.shared.held, *([] if identity is None else [identity])]
        original, release = _read_as(pair.original, wanted), pair.filled(sensitive=True).collected(wanted)
        key = [name for name in self.keys if name in wanted]
        answer = loss(
            original, release, **pair.aligned, key=key, categorical=pair.shared.categories, ways=0, seed=self.seed
        ).to_dict()
        return {name: _found(answer, LOSSES[name]) for name in names}

    def _pmse(self, pair: ComparedRelease) -> FigureValues:
        tables = pair.original.held(), pair.release.held()
        return {"pmse": pmse(*tables, pair.shared.everywhere, sample=self.sample, seed=self.seed).value}


def _read_as(study: Study, names: Sequence[str]) -> Study:
    """Return columns of a study as one without roles, which reads values by the same kinds, orders and hierarchies."""
    return Study(
        study.collected(names),
        kinds={name: study.kinds[name] for name in names if name in study.kinds},
        orders={name: study.orders[name] for name in names if name in study.orders},
        hierarchies={name: known for name in names if (known := study.hierarchy(name)) is not None},
    )


def _about_sensitive(name: str) -> bool:
    """Whether a figure of privacy is defined for each sensitive attribute."""
    kind = rule_model(_MODELS.get(name, (name,))[0])
    return kind is not None and kind.of_sensitive


def _side(name: str) -> tuple[bool, str]:
    """Return whether a higher figure of privacy is safer, and its meaning."""
    if name in PRIVACY:
        return PRIVACY[name], MEANING[name]
    kind = figure_models()[name]
    return kind.safe_is_high, f"{kind.label or name}, of the class that decides"


def _guarded(names: Sequence[str], read: Callable[[], FigureValues]) -> FigureValues:
    """Read figures; for unavailable ones, return the reason. A missing optional extra is raised, not stored as a reason."""
    try:
        figures = read()
    except MissingExtraError:
        raise
    except UnveilError as problem:
        return dict.fromkeys(names, str(problem))
    return {name: figures[name] for name in names}


def _found(answer: Any, place: Sequence[str]) -> float | str:
    """Return the figure at a place in an answer, or the reason why there is none, as that part of the answer states it."""
    reason = None
    for name in place:
        reason = answer.get("reason", reason)
        answer = answer[name]
    return _or_reason(None if answer is None else float(answer), reason)


def _value(measurement: Measurement, *place: str) -> float | str:
    measured = measurement[place]
    return _or_reason(measured.value, measured.reason)


def _or_reason(value: float | None, reason: str | None) -> float | str:
    return (reason or "it has no value for this data") if value is None else value
