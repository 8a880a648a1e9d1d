"""Which models learn, and how are they scored? The one place of this room that knows scikit-learn, imported when it is needed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from unveil.errors import MissingExtraError

if TYPE_CHECKING:
    from unveil.utility.encoding import Numbers, Rows

__all__ = ["LOWER_IS_BETTER", "MODELS", "TaskKind", "adjusted_rand", "baseline", "clustered", "learnt", "need_learning", "scored"]

TaskKind: TypeAlias = Literal["classification", "regression", "clustering"]

MODELS: Mapping[str, tuple[str, ...]] = {
    "classification": ("tree", "neighbours", "logistic"),
    "regression": ("ridge", "tree", "neighbours"),
    "clustering": ("k-means",),
}
LOWER_IS_BETTER = frozenset({"mae"})

_NEIGHBOURS = 15
_LEAF = 5
"""The fewest records in a leaf of a tree."""
_ITERATIONS = 5_000
"""The most steps of a logistic regression."""
_STARTS = 4
"""How often k-means starts anew; the best end is taken."""


def need_learning(what: str = "trying models on a release") -> None:
    """Refuse where scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError.needed(what, extra="tasks") from None


def learnt(kind: TaskKind, name: str, x: Numbers, y: Numbers, seed: int) -> tuple[Any, bool]:
    """Return a model that has learnt from records, and whether its fit came to its end.

    Where all records have the same class there is nothing to learn: the model always says that class.
    """
    from sklearn.exceptions import ConvergenceWarning

    if kind == "classification" and len(np.unique(y)) == 1:
        return baseline(kind, x, y), True
    model = _model(kind, name, len(x), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is in the answer instead
        model.fit(x, y)
    return model, name != "logistic" or int(np.max(model.n_iter_)) < _ITERATIONS


def baseline(kind: TaskKind, x: Numbers, y: Numbers) -> Any:
    """Return what needs no features: the majority class, or the mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return (DummyClassifier(strategy="most_frequent") if kind == "classification" else DummyRegressor()).fit(x, y)


def scored(kind: TaskKind, model: Any, x: Numbers, y: Numbers, classes: Numbers) -> dict[str, float]:
    """Return the figures of a model on test records; NaN where one is undefined for them."""
    guess = model.predict(x)
    if kind == "regression":
        errors, around = y - guess, y - y.mean()
        variation = float(around @ around)
        r2 = 1.0 - float(errors @ errors) / variation if np.ptp(y) > 0.0 else math.nan
        return {"r2": r2, "mae": float(np.abs(errors).mean())}
    right = guess == y
    recalls = [right[y == some].mean() for some in np.unique(y)]
    scores = {"accuracy": float(right.mean()), "balanced_accuracy": float(np.mean(recalls))}
    if len(classes) == 2:  # noqa: PLR2004
        scores["auc"] = _auc(y == classes[1], _chance(model, x, classes[1]))
    return scores


def clustered(x: Numbers, clusters: int, seed: int) -> Rows:
    """Return the cluster of each record, by k-means; no more clusters than there are distinct records."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    most = min(clusters, len(np.unique(x, axis=0)))
    with threadpool_limits(limits=1, user_api="openmp"):  # sums in one order, so that a seed gives one answer
        return np.asarray(KMeans(most, n_init=_STARTS, random_state=seed).fit_predict(x), dtype=np.int64)


def adjusted_rand(one: Rows, other: Rows) -> float:
    """Return how far two clusterings agree: 1 entirely, about 0 as random ones would."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(one, other))


def _model(kind: TaskKind, name: str, records: int, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    classifies = kind == "classification"
    if name == "logistic":
        return LogisticRegression(max_iter=_ITERATIONS)
    if name == "ridge":
        return Ridge()
    if name == "tree":
        return (DecisionTreeClassifier if classifies else DecisionTreeRegressor)(min_samples_leaf=_LEAF, random_state=seed)
    return (KNeighborsClassifier if classifies else KNeighborsRegressor)(min(_NEIGHBOURS, records))


def _chance(model: Any, x: Numbers, wanted: float) -> Numbers:
    """Return the probability of a class, 0 where the model never saw it."""
    at = np.flatnonzero(model.classes_ == wanted)
    return np.asarray(model.predict_proba(x)[:, at[0]]) if len(at) else np.zeros(len(x))


def _auc(positive: Rows, chance: Numbers) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(positive, chance)) if 0 < np.count_nonzero(positive) < len(positive) else math.nan
