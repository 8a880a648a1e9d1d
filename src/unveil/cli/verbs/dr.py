"""The verb dr: the Discrimination Rate of the key columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from unveil.cli.application import app, grouped, refuse_without
from unveil.cli.options import showing_progress
from unveil.cli.study_options import AnswerOptions, StudyOptions
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.results import Result
    from unveil.study import Study


@dataclass(frozen=True, slots=True)
class _EstimateOptions:
    """The confidence of the rate, or its estimation if there are too many combinations to hold."""

    interval: Annotated[
        bool, typer.Option("--interval", help="Give an interval for the rate in the population that was sampled.")
    ] = False
    confidence: Annotated[float, typer.Option(help="The interval's confidence.")] = 0.95
    seed: Annotated[int, typer.Option(help="The seed of the sample that --max-distinct draws.")] = 0
    max_distinct: Annotated[
        int | None,
        typer.Option(
            "--max-distinct",
            metavar="N",
            help="Hold at most N combinations of a large file; beyond that, estimate with an error.",
        ),
    ] = None

    def rate(self, study: Study) -> Result:
        """Measure the study."""
        sensitive = study.sensitive or None
        if not self.interval:
            refuse_without("--interval", self, "confidence")
        if self.max_distinct is None:
            refuse_without("--max-distinct", self, "seed")
            from unveil.measures import discrimination_rate

            return discrimination_rate(study, sensitive=sensitive, interval=self.interval, confidence=self.confidence)
        if self.interval:
            raise ArgumentError("--max-distinct does not go with --interval: an estimate has an error of its own.")
        from unveil.measures import approximate_rate

        return approximate_rate(study, study.key, sensitive, max_distinct=self.max_distinct, seed=self.seed)


@app.command(epilog="Example: unveil dr adult --key age --key sex --sensitive occupation")
@grouped
def dr(options: StudyOptions, estimate: _EstimateOptions, answer: AnswerOptions) -> None:
    """How far do the key columns, taken together, refine a sensitive column, or single out records?"""
    study = options.study(keyed=True)
    with showing_progress():
        result = estimate.rate(study)
    answer.give(result)
