"""Every public call, and right arguments for every parameter that any of them has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import unveil
from fuzz.tables import Table, draw_table
from unveil import attacks, mechanisms, models, queries, stream, tables
from unveil.assess.assessment import assess
from unveil.partitions import builders
from unveil.project import Policy
from unveil.utility.needs import utility

__all__ = ["CALLS", "NEEDED", "OFTEN", "RIGHT", "Scene", "parameters_of", "right"]


@dataclass(slots=True)
class Scene:
    """What a call's arguments are drawn from."""

    rng: Random
    table: Table
    folder: Path
    tidy: bool
    taken: set[str] = field(default_factory=set)
    """The columns that an argument names already."""

    def names(self, some: list[str] | None = None, most: int = 3) -> Any:
        """One name or several; a column twice, or one that is not there, now and then."""
        known = (self.table.names if some is None else some) or self.table.names or ["nothing"]
        chosen = self.rng.sample(known, k=min(len(known), self.rng.randint(1, most)))
        self.taken |= set(chosen)
        return chosen[0] if len(chosen) == 1 and self.rng.random() < 0.5 else chosen

    def name(self, some: list[str] | None = None) -> str:
        """One name."""
        return str(self.rng.choice((self.table.names if some is None else some) or self.table.names or ["nothing"]))

    def other_name(self) -> str:
        """One name, one that no argument names already where there is one."""
        return self.name([name for name in self.table.names if name not in self.taken])

    def another(self) -> Any:
        """Another table: the same data, some of its records changed, or a new one."""
        return (
            self.table.data if self.rng.random() < 0.7 else draw_table(self.rng, self.folder, tidy=self.tidy, name="other").data
        )

    def hierarchy(self, column: str) -> unveil.Hierarchy:
        """A hierarchy of three levels over the column's values."""
        values = list(dict.fromkeys(str(cell) for cell in self.table.cells.get(column, []) if cell is not None)) or ["a"]
        return unveil.Hierarchy(column, [[value, value[:1] or "empty", "*"] for value in values])

    def model(self) -> Any:
        """A model with a figure that tables of this size can meet."""
        name, rng = self.other_name(), self.rng
        some: list[Callable[[], Any]] = [
            lambda: models.KAnonymity(rng.randint(1, 5)),
            lambda: models.KAnonymity(),
            lambda: models.DistinctLDiversity(name, rng.randint(1, 3)),
            lambda: models.EntropyLDiversity(name, rng.choice([1.0, 1.5, 2.0])),
            lambda: models.RecursiveLDiversity(name, 2, rng.choice([1.0, 3.0])),
            lambda: models.PSensitiveKAnonymity(name, rng.randint(1, 2), 2),
            lambda: models.AlphaK(name, rng.choice([0.5, 0.9]), 2),
            lambda: models.TCloseness(name, rng.choice([0.1, 0.4, 0.8]), rng.choice(["equal", "equal", "rank", "value", "js", "kl", "variational", "hierarchical"])),
            lambda: models.BasicBetaLikeness(name, 1.0),
            lambda: models.EnhancedBetaLikeness(name, 1.0),
            lambda: models.DeltaDisclosure(name, 2.0),
            lambda: models.AverageRisk(rng.choice([0.1, 0.5])),
            lambda: models.KMap(2),
            lambda: models.EstimatedKMap(rng.randint(1, 9), rng.choice([0.2, 1.0])),
            lambda: models.NoAttack(rng.choice([1.0, 3.0]), 1.0, rng.choice(["prosecutor", "journalist"])),
            lambda: models.Profitable(rng.choice([1.0, 10.0]), 3.0, 2.0, 1.0, rng.choice(["prosecutor", "journalist"])),
            lambda: models.SampleUniques(rng.choice([0.0, 0.3])),
            lambda: models.PopulationUniques(rng.choice([0.0, 0.1]), rng.choice([0.05, 0.5])),
            lambda: models.GrassbergerLDiversity(name, rng.choice([1.0, 1.5])),
            lambda: models.PresentDeltaDisclosure(name, rng.choice([0.5, 2.0])),
            lambda: models.DeltaPresence(0.0, 0.8),
        ]  # fmt: skip
        return rng.choice(some)()

    def need(self) -> unveil.Need:
        """A need that names columns of the table."""
        return unveil.Need("study", self.name(), self.names(), at_least=self.rng.choice([None, 0.5]))

    def task(self) -> unveil.Task:
        """A task that names columns of the table."""
        kind = self.rng.choice(["classification", "regression", "clustering"])
        return unveil.Task("work", None if kind == "clustering" else self.name(), self.names(), kind=kind, clusters=3)

    def builder(self) -> Any:
        """A rule that builds a hierarchy."""
        return self.rng.choice([
            builders.RootOnly(),
            builders.Intervals((5, 10)),
            builders.Redaction(),
            builders.Rare((2, 5)),
            builders.Dates(("month", "year")),
        ])  # fmt: skip

    def partition(self) -> Any:
        """A partition in one of its forms."""
        values = list(dict.fromkeys(self.table.cells.get(self.name(), [])[:20])) if self.tidy else ["a", "b"]
        return self.rng.choice(
            [[values], {str(value): "all" for value in values}, lambda _: "all", [0, 10, 100], [[value] for value in values]]
        )

    def step(self) -> unveil.Step:
        """A step of a protection."""
        return self.rng.choice([
            unveil.Step("sample", (), {"share": 0.5}),
            unveil.Step("microaggregate", self.names(self.table.numbers), {"k": 3}),
            unveil.Step("swap", self.names(), {"share": 0.2}),
            unveil.Step("top_bottom_code", self.name(self.table.numbers), {"top": 50}),
            unveil.Step("suppress_locally", self.names(), {"k": 2}),
            unveil.Step("mondrian", self.names(), {"k": 2}),
        ])  # fmt: skip


Draw = Callable[[Scene], Any]


def _after(first: Callable[..., Any], then: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call with the parameters of two: what the first one makes is the first argument of the second."""
    made = dict(inspect.signature(first).parameters)
    _, *others = inspect.signature(then).parameters.values()
    both = made | {one.name: one.replace(kind=one.KEYWORD_ONLY) for one in others if one.name not in made}

    def called(**arguments: Any) -> Any:
        answer = first(**{name: value for name, value in arguments.items() if name in made})
        return then(answer, **{name: value for name, value in arguments.items() if name not in made})

    called.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        sorted(both.values(), key=lambda one: (one.kind, one.default is not one.empty))
    )
    return called


def _tabled(data: Any, by: Any, value: Any = None) -> Any:
    return unveil.table(data, by, value=value)


def _asked(gate: unveil.Gate, question: Any) -> Any:
    try:
        gate.explain(question)
        answer = gate.ask(question)
        gate.history()
        gate.spent()
    finally:
        gate.close()
    return answer


def _fed(window: unveil.Window, data: Any) -> Any:
    for figures in islice(window.feed(data), 1000):  # a step of microseconds over years of records has no end
        figures.to_dict()
    return window.finish()


def _noticed(run: unveil.Run) -> None:
    run.notify("begun")
    for _ in run.each("stage", [1, 2]):
        run.check()


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(unveil, name)
        for name in unveil.__all__
        if inspect.isfunction(getattr(unveil, name)) and name != "run_in_process"  # it starts a process for every case
    },
    "assess": assess,
    "utility": utility,
    **{
        f"mechanisms.{name}": getattr(mechanisms, name)
        for name in mechanisms.__all__
        if inspect.isfunction(getattr(mechanisms, name)) and name != "register"  # it would change every later case
    },
    **{
        f"attacks.{name}": getattr(attacks, name)
        for name in attacks.__all__
        if inspect.isfunction(getattr(attacks, name)) and name != "attack"
    },
    **{
        f"tables.{name}": _after(_tabled, getattr(tables, name))
        for name in ("suppress", "adjust", "round_table", "round_small_counts")
    },
    "tables.audit": tables.audit,
    "tables.perturb_by_cell_keys": tables.perturb_by_cell_keys,
    "stream.unicity": stream.unicity,
    "stream.intersect_releases": stream.intersect_releases,
    "Gate": _after(unveil.Gate, _asked),
    "Window": _after(unveil.Window, _fed),
}
_MODELS = {
    f"models.{name}": getattr(models, name)
    for name in models.__all__
    if name not in {"Model", "SensitiveModel", "Measured", "register"}  # bases, a result, and what changes every later case
}
_BUILDERS = {
    f"builders.{name}": getattr(builders, name)
    for name in builders.__all__
    if name not in {"Builder", "HierarchyProposal", "propose"}  # a protocol, what an answer is made of, and a call of `unveil`
}
_OTHERS: dict[str, Callable[..., Any]] = {
    "Need": unveil.Need,
    "Need.parse": unveil.Need.parse,
    "Task": unveil.Task,
    "Step": unveil.Step,
    "Hierarchy": unveil.Hierarchy,
    "Hierarchy.read": unveil.Hierarchy.read,
    "Hierarchy.read_folder": unveil.Hierarchy.read_folder,
    "Hierarchy.from_levels": lambda values, level, column=None: unveil.Hierarchy.from_levels(values, level, column=column),
    "Hierarchy.from_partitions": unveil.Hierarchy.from_partitions,
    "Partition.of": unveil.Partition.of,
    "Partition.from_blocks": unveil.Partition.from_blocks,
    "Partition.from_mapping": unveil.Partition.from_mapping,
    "Partition.from_edges": unveil.Partition.from_edges,
    "Partition.from_function": unveil.Partition.from_function,
    "Partition.from_document": unveil.Partition.from_document,
    "Partition.read": unveil.Partition.read,
    "Policy.of": Policy.of,
    "Policy.preset": Policy.preset,
    "Policy.read": Policy.read,
    "Project.read": unveil.Project.read,
    "import_arx": unveil.import_arx,
    "arx_rule": unveil.arx_rule,
    "datasets.load": unveil.datasets.load,
    "datasets.describe": unveil.datasets.describe,
    "queries.policy_of": queries.policy_of,
    "queries.count": queries.count,
    "queries.total": queries.total,
    "queries.average": queries.average,
    "Study": unveil.Study,
    "Pair": unveil.Pair,
    "Limits": unveil.Limits,
    "Run": _after(unveil.Run, _noticed),
}
CALLS: dict[str, Callable[..., Any]] = {**_FUNCTIONS, **_MODELS, **_BUILDERS, **_OTHERS}
"""What is called, by the name that a user would write."""


OFTEN = [*list(_FUNCTIONS) * 3, *CALLS]
"""The same, what works on tables several times: how often each is drawn."""


def parameters_of(label: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a call."""
    return dict(inspect.signature(CALLS[label]).parameters)


def _numeric(scene: Scene) -> Any:
    return scene.names(scene.table.numbers)


def _domains(scene: Scene) -> dict[str, Any]:
    return {name: list(dict.fromkeys(map(_hashable, some)))[:50] for name, some in scene.table.cells.items()}


def _hashable(cell: Any) -> Any:
    try:
        hash(cell)
    except TypeError:
        return str(cell)
    return cell


def _path(name: str) -> Draw:
    return lambda scene: scene.folder / name


def _each(draw: Draw, least: int = 0, most: int = 2) -> Draw:
    return lambda scene: [draw(scene) for _ in range(scene.rng.randint(least, most))]


def _by_name(draw: Callable[[Scene, str], Any]) -> Draw:
    return lambda scene: {
        name: draw(scene, name)
        for name in scene.rng.sample(scene.table.names, k=min(len(scene.table.names), scene.rng.randint(0, 3)))
    }


def _one_of(*values: Any) -> Draw:
    return lambda scene: scene.rng.choice(values)


def _truth(scene: Scene) -> Any:
    return np.arange(scene.table.rows)


def _codes(scene: Scene) -> Any:
    return [np.random.default_rng(scene.rng.randint(0, 9)).integers(0, 4, max(scene.table.rows, 1)) for _ in range(2)]


def _among(scene: Scene) -> str:
    """One of the columns that an argument names already."""
    return scene.name(sorted(scene.taken))


def _question(scene: Scene) -> Any:
    name, number = scene.other_name(), scene.name(scene.table.numbers)
    return scene.rng.choice([
        "SELECT COUNT(*) FROM data",
        f'SELECT COUNT(*) FROM data WHERE "{number}" > 3',  # noqa: S608 - a question to a gate
        f'SELECT SUM("{number}") FROM data',  # noqa: S608 - a question to a gate
        f'SELECT AVG("{number}"), COUNT(*) FROM data GROUP BY "{name}"',  # noqa: S608 - a question to a gate
        f'SELECT MAX("{number}") FROM data WHERE "{name}" = \'a\'',  # noqa: S608 - a question to a gate
        queries.count(queries.col(name) == 1, by=scene.name()),
        queries.total(number),
        queries.average(number, queries.col(number) > 0),
    ])  # fmt: skip


def _derived(scene: Scene) -> Any:
    number = scene.name(scene.table.numbers)
    some = [stream.Decimals(number, 1), stream.Hours(scene.name(), 6), stream.Weekday(scene.name())]
    return {"derived": scene.rng.choice(some)}


def _values(scene: Scene) -> Any:
    return scene.table.cells.get(scene.name()) or ["a", "b"]


_DATA: Draw = lambda scene: scene.table.data  # noqa: E731 - a drawer among others
_ANOTHER: Draw = Scene.another
_NAMES: Draw = Scene.names
_NAME: Draw = Scene.name
_SEED = _one_of(0, 1, 7, 2**63 - 1)
_SHARE = _one_of(0.0, 0.1, 0.5, 1.0)
_ORDERS = _by_name(lambda scene, name: sorted({str(cell) for cell in scene.table.cells.get(name, [])}))
_TREES = _by_name(lambda scene, name: scene.hierarchy(name))
_PROGRESS = _one_of(lambda *_: None)

RIGHT: dict[str, Draw] = {
    **dict.fromkeys(
        ("data", "original", "release", "project_or_data", "population", "reference", "external", "control", "link"), _ANOTHER
    ),
    "data": _DATA,
    "original": _DATA,
    "project_or_data": _DATA,
    **dict.fromkeys(("key", "columns", "attributes", "given"), _NAMES),
    **dict.fromkeys(("column", "attribute", "target"), _NAME),
    "sensitive": Scene.other_name,
    **dict.fromkeys(("weights", "household", "id", "groups"), _NAME),
    **dict.fromkeys(("strata", "within", "identifiers", "pseudonyms", "calibrate", "continuous", "categorical", "carry"), _NAMES),
    **dict.fromkeys(
        ("only_roles", "only_outliers", "day_first", "smooth", "copy_check", "refine", "missing_is_sensitive"),
        _one_of(True, False),
    ),
    "rest": _one_of("other", "*", "rest"),
    "digits": _one_of(1, 2, 3, 5),
    "hidden": _one_of("*", "x", ""),
    "similar": _one_of(None, ["sex"], "job"),
    "nulls": _one_of("category", "drop", "error", "wildcard", "keep"),
    "seed": _SEED,
    "partitions": _by_name(lambda scene, _: scene.partition()),
    "interval": _one_of(True, False),
    "person": _NAME,
    "holdout": _ANOTHER,
    "testing": _one_of(True, False),
    "against": _one_of("truth", "release"),
    "spreadsheet_safe": _one_of(True, False),
    "record": _one_of(None),
    "waivers": _one_of(()),
    "history": _one_of(None),
    "file": _path("data.csv"),
    "public_key": _path("secret.key"),
    "passphrase": _one_of(None, b"words"),
    "confidence": _one_of(0.5, 0.95),
    "max_size": _one_of(None, 1, 2, 3),
    "max_distinct": _one_of(2, 50, 1000),
    "threads": _one_of(None, 1, 2),
    "progress": _PROGRESS,
    "checkpoint": _path("checkpoint"),
    "resume": _one_of(True, False),
    "models": _each(Scene.model, 1),
    "hierarchies": _TREES,
    "orders": _ORDERS,
    "sampling_fraction": _one_of(0.01, 0.5, 1.0),
    "special": _one_of(True, False),
    "loglinear": _one_of(None, 1, 2, "search", "pml:1", "ce:2"),
    "subsets": _one_of(None, {}, {1: 2}, {2: 2, "1": 3}),
    "threshold": _one_of(0.2, 0.5),
    "alpha": _one_of(0.5, 1.0, 2.0),
    "suppressed": _one_of("apart", "class"),
    "suppression": _SHARE,
    "objective": _one_of("loss", "loss-geometric", "precision", "discernibility", "class-size", "entropy", "kl", "loss-rank"),
    "levels": _by_name(lambda *_: (0, 2)),
    "factor": _SHARE,
    "key_file": _path("secret.key"),
    "keep_order": _one_of(True, False),
    "dry_run": _one_of(True, False),
    "time_limit": _one_of(None, 0.2, 1.0),
    "node_limit": _one_of(None, 1, 10),
    "needs": Scene.need,
    "tasks": Scene.task,
    "released": _NAME,
    "dominance": _one_of(None, 0.5, 1.0),
    "candidates": lambda scene: [unveil.Step("add_noise", scene.name()), unveil.Step("swap", scene.name())],
    "chains": _one_of(True, False),
    "prefer": _one_of("utility", "privacy"),
    "max_identity": _one_of(None, 0.5),
    "max_homogeneity": _one_of(None, 0.5),
    "out": _path("release.csv"),
    "mapping": _by_name(lambda _, name: name),
    "same_order": _one_of(True, False),
    "link_records": _one_of(True, False),
    "missing_is_sensitive": _one_of(True, False, None),
    "rule": Scene.builder,
    "policy": _one_of("cell-size-5", {"k_anonymity": 3}),
    "project": _one_of(None),
    "baseline": _one_of(None),
    "allow": _one_of(0.0, 0.1),
    "hierarchy": lambda scene: scene.hierarchy(scene.name()),
    "releases": lambda scene: {"original": scene.table.data, "other": scene.another()},
    "privacy": _one_of("k", ["k", "prosecutor"], ["t", "attack"]),
    "losses": _one_of("entropy_loss", ["suppressed"]),
    "sample": _one_of(None, 50, 1000),
    "ways": _one_of(1, 2, 3),
    "pmse": _one_of(True, False),
    "model": _one_of("logistic", "cart"),
    "steps": _each(Scene.step, 1),
    "separator": _one_of(None, ",", ";"),
    "encoding": _one_of(None, "utf-8", "latin-1"),
    "missing": _one_of("?", ["?", "NA"], ()),
    "path": _path("unveil.toml"),
    "folds": _one_of(2, 5),
    "strict": _one_of(True, False),
    "step": _one_of(0.05, 0.5),
    "k": _one_of(1, 2, 3, 5),
    "importance": _by_name(lambda *_: 1.0),
    "follow": _by_name(lambda scene, _: scene.name()),
    "method": _one_of(
        "uncorrelated",
        "correlated",
        "mdav",
        "simple",
        "stratified",
        "nearest",
        "trees",
        "hmac",
        "rank",
        "deviation",
        "univariate",
    ),
    "amount": _one_of(0.0, 0.1, 1.0),
    "amounts": lambda scene: scene.name(scene.table.numbers),
    "covariance": _one_of(None, [[1.0]]),
    "aggregate": _one_of(None, "mean", "median"),
    "kinds": _by_name(lambda *_: "nominal"),
    "standardise": _one_of(True, False),
    "together": _one_of(True, False),
    "gain": _one_of(0.0, 0.2),
    "benefit": _one_of(None, 1.0, 1200.0),
    "loss": _one_of(0.0, 0.5, 300.0),
    "window": _one_of(1.0, 5.0, 100.0),
    "samples": _one_of(1, 3),
    "base": _one_of(1, 5.0, 0.1),
    "values": _values,
    "share": _one_of(0.1, 0.5, 1.0),
    "size": _one_of(1, 10),
    "top": _one_of(50, 1.5),
    "bottom": _one_of(-1, 20),
    "top_share": _one_of(0.05, 0.5),
    "bottom_share": _one_of(0.05, 0.4),
    "replacement": _one_of("limit", "mean", "null"),
    "retention": _one_of(0.5, 0.9, 1.0),
    "matrix": _one_of(None),
    "invariant": _one_of(True, False),
    "l": _one_of(1, 2, 3),
    "group": _one_of("group", "class"),
    "where": _by_name(lambda scene, name: (scene.table.cells.get(name) or [None])[0]),
    "epsilon": _one_of(0.1, 1.0, 10.0),
    "delta": _one_of(1e-6, 0.01),
    "mechanism": _one_of("laplace", "geometric", "gaussian", "sample", "swap"),
    "contribution": _one_of(1, 2),
    "bounds": _one_of((0.0, 100.0), (-5, 5)),
    "edges": _one_of([0, 10, 50, 100]),
    "tables": _each(Scene.names, 1),
    "domains": _domains,
    "known": Scene.names,
    "m": _one_of(1, 2, 3),
    "workload": _each(Scene.names, 1),
    "shared": _one_of(None),
    "records": _one_of(None, 10, 50),
    "key_variable": _one_of("UNVEIL_KEY_OF_THE_TESTS"),
    "length": _one_of(16, 32),
    "leaf": _one_of(1, 5),
    "risk": _one_of(0.1, 0.5),
    "substitution": _one_of((0.05, 0.5)),
    "sampling": _one_of(0.5, 0.9),
    "generalise": _by_name(lambda scene, _: scene.partition()),
    "truth": _truth,
    "persons": lambda scene: [row // 2 for row in range(scene.table.rows)],
    "distance": _one_of("euclidean", "mahalanobis", "mixed", "equal", "rank"),
    "scale": _one_of("deviation", "range"),
    "intervals": _one_of("nearest", "midpoint"),
    "widths": _one_of(0.05, (0.01, 0.1), (5, 10)),
    "original_codes": _codes,
    "release_codes": _codes,
    "false_matches": _one_of(0.01, 0.1),
    "false_nonmatches": _one_of(0.01, 0.1),
    "iterations": _one_of(1, 20),
    "tolerance": _one_of(1e-3, 1e-6),
    "true_pairs": _one_of(None, 5),
    "clusters": _one_of(2, 5),
    "highest": _one_of(None, 0.5),
    "estimator": _one_of("poisson", "dankar"),
    "significance": _one_of(0.01, 0.2),
    "beta": _one_of(None, 1.0),
    "p": _one_of(1, 2),
    "c": _one_of(None, 2.0),
    "t": _one_of(None, 0.2),
    "low": _one_of(0.0, 0.2),
    "high": _one_of(0.5, 1.0),
    "name": _one_of("study", "adult", "cell-size-5", "paper-2"),
    "at_least": _one_of(None, 0.5),
    "text": _one_of("study: disease given age, sex >= 0.5", "x: y given z", "work"),
    "kind": _one_of("classification", "regression", "clustering"),
    "options": lambda scene: scene.step().options,
    "labels": _one_of([["a", "x", "*"], ["b", "x", "*"]]),
    "folder": lambda scene: scene.folder,
    "level": _one_of(["x", "x"], ["x", "y"]),
    "blocks": _one_of([["a"], ["b", "c"]], [[1, 2], [3]]),
    "function": _one_of(str, lambda _: None),
    "document": _one_of({"blocks": [["a"], ["b"]]}, {"edges": [0, 10]}, [["a"], ["b"]]),
    "spec": Scene.partition,
    "rules": _one_of({"k_anonymity": 3}, {"k_anonymity": {"at_least": 3}}, {"preset": "cell-size-5"}),
    "backend": _one_of("polars", "pandas", "pyarrow"),
    "start": _one_of(0, 5),
    "units": _one_of(("month", "year"), ("year",)),
    "thresholds": _one_of((2, 5), (3,)),
    "sizes": _one_of((2, 4), (3,)),
    "redact": _one_of(True, False),
    "small": _one_of(3, 5),
    "order": _one_of(None, ("a", "b")),
    "origin": _one_of(0, 5),
    "other": _one_of("other", "rest"),
    "side": _one_of("left", "right"),
    "characters": _one_of(None, (1, 2)),
    "mask": _one_of("*", "#"),
    "pad": _one_of(None, "0"),
    "pad_side": _one_of(None, "left"),
    "by": _NAMES,
    "value": lambda scene: scene.name(scene.table.numbers),
    "holding": Scene.other_name,
    "request": Scene.other_name,
    "margins": _one_of(True, False),
    "signed": _one_of(True, False),
    "total": _one_of("Total", "all"),
    "coalition": _one_of(0, 1, 3),
    "on": _one_of(None, "count", "value"),
    "attacker": _one_of(None, "0:inf", "50%:150%"),
    "zeros": _one_of("publish", "suppress", "structural"),
    "insiders": _one_of("singletons", "none"),
    "width": _one_of(None, 1.0, 5.0),
    "apriori": _one_of(None),
    "cost": _one_of("cells", "count", "value"),
    "solver": _one_of("auto", "highs"),
    "keep": _one_of("nothing", "margins", "total"),
    "published": _DATA,
    "figures": lambda scene: scene.name(scene.table.numbers),
    "largest": _one_of(2, 5),
    "variance": _one_of(1.0, 2.0),
    "gap": _one_of(0, 1),
    "ledger": _path("gate.db"),
    "question": _question,
    "dialect": _one_of(None, "postgres", "duckdb"),
    "settings": _one_of({}, {"k": 3}, {"epsilon": 0.5}),
    "duration": _one_of("1h", "2d", 10),
    "time": _NAME,
    "lateness": _one_of(0, 5, "1h"),
    "late": _one_of("drop", "add"),
    "every": _one_of(None, 5, "1h"),
    "derived": _derived,
    "limit": _one_of(1000, 50_000_000),
    "point": _NAMES,
    "draws": _one_of(1, 20),
    "people": _DATA,
    "earlier": _ANOTHER,
    "later": _ANOTHER,
    "partial": _one_of(True, False),
    "memory": _one_of(1 << 20, 2 << 30),
    **dict.fromkeys(("stream_from", "rows", "block", "lines", "combinations", "bucket"), _one_of(-1, 1000)),
    "watched_from": _one_of(1, 1 << 18),
    "checkpoint_every": _one_of(0.5, 10.0),
    "notice": _one_of(lambda _: None),
    "limits": lambda scene: unveil.Limits(time=scene.rng.choice([None, 5.0]), threads=scene.rng.choice([None, 1])),
    "flag": lambda _: np.zeros(1, dtype=np.uint8),
}
"""How a right argument is drawn, by the name of the parameter: one name means one thing in every call."""

_SPECIAL: dict[tuple[str, str], Draw] = {
    ("mechanisms.redact_text", "kinds"): _one_of(None, ["email", "date"], ["number"]),
    **{
        (f"mechanisms.{name}", "ledger"): _one_of(None)
        for name in (
            "dp_count",
            "dp_sum",
            "dp_mean",
            "dp_histogram",
            "dp_marginals",
            "dp_synthesize",
            "dp_microaggregate",
            "safepub",
        )
    },
    ("mechanisms.massc", "sampling"): _one_of((0.5, 0.95)),
    ("mechanisms.dp_microaggregate", "bounds"): _by_name(lambda *_: (0.0, 100.0)),
    ("mechanisms.round_values", "values"): _one_of([0, 10, 100]),
    ("unveil.compare", "original"): _one_of("original"),
    ("compare", "original"): _one_of("original"),
    ("trade_off", "releases"): lambda scene: {"one": scene.another(), "two": scene.another()},
    ("Hierarchy.from_partitions", "partitions"): _one_of([[["a"], ["b"]]]),
    ("Need", "partitions"): _one_of(None),
    ("direct_identifiers", "sample"): _one_of(10, 1000),
    ("anonymize_front", "needs"): _each(Scene.need, 1),
    ("compose", "bounds"): _by_name(lambda *_: (0.0, 100.0)),
    ("compose", "time_limit"): _one_of(0.2, 1.0),
    ("propose_partitions", "hierarchy"): _one_of(None),
    ("attacks.distance_linkage", "attributes"): _NAMES,
    ("mechanisms.swap_households", "risk"): _NAMES,
    ("models.Profitable", "cost"): _one_of(0.0, 4.0),
    **{(f"models.{name}", "attacker"): _one_of("prosecutor", "journalist") for name in ("Profitable", "NoAttack")},
    ("attack", "method"): _one_of(None, {"mechanism": "rank_swap", "window": 5}, {"mechanism": "add_noise", "amount": 0.1}),
    ("attacks.structure_linkage", "original"): _codes,
    ("attacks.structure_linkage", "release"): _codes,
    ("compare", "link"): _one_of(None),
    ("trade_off", "link"): _one_of(None),
    ("trade_off", "policy"): _one_of(None, "cell-size-5"),
    ("compare", "policy"): _one_of(None, "cell-size-5"),
    ("anonymize", "link"): _path("link.csv"),
    ("loss", "tasks"): _one_of((), "income"),
    ("assess", "partitions"): _one_of(None),
    ("attack", "partitions"): _one_of(None),
    ("anonymize", "weights"): _by_name(lambda *_: 1.0),
    **{
        (f"tables.{label}", "rules"): _one_of(
            "threshold=3", "threshold=2", "p=10", "pq=10:50", "dominance=1:80", "group", ["threshold=3", "p=10"]
        )
        for label in ("suppress", "adjust", "audit")
    },
    **{(f"tables.{label}", "level"): _one_of("rule", "none", 2.0) for label in ("suppress", "adjust", "audit")},
    **{(f"tables.{label}", "intervals"): _one_of("auto", "exact", "enough") for label in ("suppress", "audit")},
    **{(f"tables.{label}", "time_limit"): _one_of(0.2, 1.0) for label in ("suppress", "adjust", "round_table")},
    **{
        (label, "where"): lambda scene: queries.col(scene.name()) == 1
        for label in ("queries.count", "queries.total", "queries.average")
    },
    ("tables.perturb_by_cell_keys", "record"): Scene.other_name,
    ("tables.round_small_counts", "base"): _one_of(3, 5),
    ("table", "top"): _one_of(1, 5),
    ("count", "top"): _one_of(1, 5),
    ("table", "tables"): lambda scene: [[_among(scene)]],
    ("attack_table", "sensitive"): _among,
    ("attack_table", "share"): _one_of(50.0, 90.0),
    ("attack_table", "options"): _one_of({}, {}, {"nulls": "drop"}, {"margins": False}),
    ("Gate", "policy"): _one_of("restriction", "differential", "sticky", "camouflage", "open"),
    ("Gate", "bounds"): _by_name(lambda *_: (0.0, 100.0)),
    ("Gate", "values"): _domains,
    ("Gate", "nulls"): _one_of("error", "drop"),
    ("queries.policy_of", "name"): _one_of("restriction", "differential", "sticky", "camouflage", "open"),
    ("Window", "size"): _one_of(5, 20, 1000),
    ("Window", "every"): _one_of(1, 5, 20),
    ("sign", "key"): _path("secret.key"),
    ("Limits", "time"): _one_of(None, 1.0),
    ("Limits", "text"): _one_of(-1, 1000),
}
_NUMERIC_CALLS = {
    "mechanisms.add_noise", "mechanisms.microaggregate", "mechanisms.rank_swap", "mechanisms.resample", "mechanisms.round_values",
    "mechanisms.shuffle",
    "mechanisms.top_bottom_code", "mechanisms.dp_sum", "mechanisms.dp_mean", "mechanisms.dp_microaggregate", "attacks.interval_disclosure",
}  # fmt: skip
_METHODS = {
    "mechanisms.add_noise": ("uncorrelated", "correlated", "linear", "non-linear", "multiplicative"),
    "mechanisms.microaggregate": ("mdav", "v-mdav", "optimal"), "mechanisms.round_values": ("nearest", "random"), "mechanisms.sample": ("simple", "stratified", "systematic"),
    "tables.suppress": ("lp", "optimal", "gauss", "primary"), "tables.round_table": ("controlled", "conventional", "random"),
    "mechanisms.synthesize": ("trees", "marginals"), "mechanisms.pseudonymize": ("hmac", "random"), "attacks.interval_disclosure": ("rank", "deviation"),
}  # fmt: skip

NEEDED = {
    "mechanisms.pram": ("retention",), "check": ("policy", "key"), "mechanisms.sample": ("size",), "loss": ("same_order",), "mechanisms.dp_histogram": ("values",),
    "attack_table": ("by",), "tables.audit": ("by", "figures"), "Window": ("size", "every"), "tables.suppress": ("time_limit",), "tables.adjust": ("time_limit",), "tables.round_table": ("time_limit",),
    "mechanisms.pseudonymize": ("key_file",), "compose": ("time_limit",), "propose_partitions": ("same_order",), "trade_off": ("losses",), "mechanisms.round_values": ("base",), "tasks": ("same_order",), "mechanisms.top_bottom_code": ("top",),
}  # fmt: skip
"""Arguments that a call does not ask for by itself, and without which it says little."""
_NULLS = {
    "measure": ("category", "drop", "error", "wildcard"),
    "mechanisms.dp_sum": ("error", "drop"),
    "check": ("category", "drop", "error", "wildcard"),
}


def right(label: str, name: str, scene: Scene) -> Any:
    """Draw a right argument for a parameter of a call."""
    if (label, name) in _SPECIAL:
        return _SPECIAL[label, name](scene)
    if name in {"attributes", "attribute"} and label in _NUMERIC_CALLS:
        return _numeric(scene) if name == "attributes" else scene.name(scene.table.numbers)
    if name == "nulls":
        return scene.rng.choice(
            _NULLS.get(label, ("error", "keep", "drop") if label.startswith("mechanisms.") else ("category", "drop", "error"))
        )
    if name == "method" and label in _METHODS:
        return scene.rng.choice(_METHODS[label])
    return RIGHT[name](scene)
