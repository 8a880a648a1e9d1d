"""Models that learn a task, and their scores: scikit-learn's, with their default settings unless stated here.

Trees have at least 5 records in a leaf, there are 15 neighbours, and `baseline` needs no features: it predicts the most
frequent class, or the mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unveil.utility.encoding import learners_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["HIGHER_IS_BETTER", "KINDS", "predictors", "scored"]

KINDS = ("classification", "regression", "clustering")

HIGHER_IS_BETTER: Mapping[str, bool] = {
    "accuracy": True,
    "balanced_accuracy": True,
    "r2": True,
    "mae": False,
    "adjusted_rand": True,
    "fuzzy_rand": True,
    "cophenetic": True,
}
"""The measures of the tasks; for each kind of task, the first is the main one."""

_LEAF = 5
_NEIGHBOURS = 15
_ITERATIONS = 10_000


def predictors(kind: str, records: int, seed: int) -> dict[str, Any]:
    """Return the unfitted models for a kind of task, given the number of training records."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    near = min(_NEIGHBOURS, records)
    if kind == "regression":
        return {
            "ridge": Ridge(),
            "tree": DecisionTreeRegressor(min_samples_leaf=_LEAF, random_state=learners_seed(seed)),
            "neighbours": KNeighborsRegressor(near),
            "baseline": DummyRegressor(),
        }
    return {
        "tree": DecisionTreeClassifier(min_samples_leaf=_LEAF, random_state=learners_seed(seed)),
        "neighbours": KNeighborsClassifier(near),
        "logistic": LogisticRegression(max_iter=_ITERATIONS),
        "baseline": DummyClassifier(strategy="most_frequent"),
    }


def scored(kind: str, truth: NDArray[np.float64], guess: NDArray[np.float64]) -> dict[str, float]:
    """Return the measures of a prediction; balanced accuracy is the mean recall of the classes present."""
    from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, recall_score

    if kind == "regression":
        return {
            "r2": float(r2_score(truth, guess, force_finite=False)) if np.ptp(truth) > 0.0 else float("nan"),
            "mae": float(mean_absolute_error(truth, guess)),
        }
    recall = recall_score(truth, guess, labels=np.unique(truth), average="macro", zero_division=0.0)
    return {"accuracy": float(accuracy_score(truth, guess)), "balanced_accuracy": float(recall)}
