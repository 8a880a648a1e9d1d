"""Which records did the experiments use? The counts that the thesis prints beside those of the built-in Adult."""

from __future__ import annotations

from collections import Counter

from unveil.reproduce.experiments.frame import Conclusion, Experiment, ExperimentFigure
from unveil.sources import datasets

__all__ = ["run"]

_RECORDS = 30_161
_VALUES = {
    "age": 72, "education": 16, "race": 5, "sex": 2, "native-country": 41, "marital-status": 7, "workclass": 8,
    "occupation": 14, "income-per-year": 2,
}  # fmt: skip
_COUNTS = {
    "race": {"Amer-Indian-Eskimo": 286, "Asian-Pac-Islander": 895, "Black": 2817, "Other": 231, "White": 25932},
    "income-per-year": {"<=50K": 22653, ">50K": 7508},
}
_FIRST = (
    "The thesis has one record fewer, White and at most 50K, as the first record of the file is: its counts are exactly those of "
    "all records but the first, as if that had been read as the header."
)
_NEVER = "Never-worked is only in records without an occupation, which the complete ones leave out."


def run() -> Experiment:
    """Count the records and values of Adult beside the printed counts."""
    adult = datasets.adult()
    rest = adult[1:]
    findings = [ExperimentFigure("records", "all", "adult", adult.height, _RECORDS, _FIRST)]
    for name, printed in _VALUES.items():
        distinct = adult[name].n_unique()
        findings.append(
            ExperimentFigure("distinct values", name, "adult", distinct, printed, None if distinct == printed else _NEVER)
        )
    for name, counts in _COUNTS.items():
        own = Counter(adult[name].to_list())
        findings += [
            ExperimentFigure(
                "records", f"{name} = {value}", "adult", own[value], printed, None if own[value] == printed else _FIRST
            )
            for value, printed in counts.items()
        ]
    same = rest.height == _RECORDS and all(Counter(rest[name].to_list()) == counts for name, counts in _COUNTS.items())
    return Experiment(
        name="records",
        title="The records",
        source="thesis, Tables 4.8, 5.9, 6.10, 6.11 and 6.12",
        theirs="Adult without the records that have a missing value: 30,161 records are left.",
        ours="The built-in Adult: the training file without the records that have a missing value.",
        findings=tuple(findings),
        conclusions=(
            Conclusion("30,161 records are complete", adult.height == _RECORDS, f"{adult.height:,} records are"),
            Conclusion(
                "The counts by race and income are those of Tables 6.11 and 6.12", same, "once the first record is left out"
            ),
        ),
        releases={},
    )
