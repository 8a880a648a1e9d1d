"""The options of a measurement: what it reports beside keys and sensitive attributes."""

from __future__ import annotations

from dataclasses import dataclass

from unveil.arguments import checked_number
from unveil.errors import ArgumentError
from unveil.models.base import Model
from unveil.sources import Data
from unveil.study import Study


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """What is requested beyond the models of a study: the arguments of `measure` that are not about the data."""

    models: tuple[Model, ...] = ()
    reference: Data | None = None
    sampling_fraction: float | None = None
    special: bool = False
    loglinear: int | str | None = None
    threshold: float = 0.2
    alpha: float = 1.0
    suppressed: str = "apart"

    def check(self, study: Study) -> None:
        """Refuse options that make no sense for the study."""
        checked_number("threshold", self.threshold, above=0.0, most=1.0)
        if study.weights is not None and study.nulls == "wildcard":
            raise ArgumentError("individual risk has no meaning if nulls match any value; choose other nulls, or no weights.")
