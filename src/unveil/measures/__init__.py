"""From count tables to numbers: entropy, the Discrimination Rate, distances, uniqueness and risk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily

if TYPE_CHECKING:
    from unveil.measures.approximate import approximate_rate
    from unveil.measures.by_value import ByValue, disclosing, telling_values
    from unveil.measures.discrimination import (
        DiscriminationRate,
        RateFigures,
        RateQuestion,
        discrimination_rate,
        mean,
        rate,
        rate_of,
        rates,
        split_rate,
    )
    from unveil.measures.entropy import (
        IdentifierKind,
        adjusted_rate,
        beyond_chance,
        entropy_bits,
        entropy_by_class,
        expected_information_bits,
    )
    from unveil.measures.equivalence import (
        SUPPRESSED,
        ClassRisks,
        Equivalence,
        Intruder,
        Spread,
        Vulnerability,
        equivalence_each,
        intruder_risk,
        suppressed_cells,
        vulnerability_of_records,
        vulnerability_of_sensitive,
        without_suppressed,
    )
    from unveil.measures.households import OF_MEMBERS, Homes, HouseholdRisks
    from unveil.measures.individual import UNDERSTATES, approximated, individual_risk, population_sizes, simple_uniqueness
    from unveil.measures.interval import Interval
    from unveil.measures.itemsets import MOST_KNOWN, Items, checked_separator, is_collection, items_of, least_supports, supports
    from unveil.measures.loglinear import CellWeights, ModelFit, loglinear_uniqueness
    from unveil.measures.loglinear_search import fitted_model
    from unveil.measures.population import PopulationUniqueness, checked_sampling_fraction, population_uniqueness
    from unveil.measures.scan import Scan, scan_study
    from unveil.measures.scan_checkpoint import default_place
    from unveil.measures.special_uniqueness import SpecialSummary, find_special_uniques
    from unveil.measures.subset_walk import Subset
    from unveil.measures.text_leaks import TextLeaks, known_forms, leaks_of, mark_or
    from unveil.measures.unnamed import (
        ColumnExposure,
        Unmeasured,
        column_exposure,
        column_exposures,
        first_of,
        never_measured,
        records_alone,
        singled_out,
        singled_out_by,
    )
    from unveil.measures.wildcard import covering, wildcard_sums
else:
    __getattr__ = lazily(
        __name__,
        {
            "approximate": ("approximate_rate",),
            "by_value": ("ByValue", "disclosing", "telling_values"),
            "discrimination": (
                "DiscriminationRate",
                "RateFigures",
                "RateQuestion",
                "discrimination_rate",
                "mean",
                "rate",
                "rate_of",
                "rates",
                "split_rate",
            ),
            "entropy": (
                "IdentifierKind",
                "adjusted_rate",
                "beyond_chance",
                "entropy_bits",
                "entropy_by_class",
                "expected_information_bits",
            ),
            "equivalence": (
                "ClassRisks",
                "Equivalence",
                "Intruder",
                "SUPPRESSED",
                "Spread",
                "Vulnerability",
                "equivalence_each",
                "intruder_risk",
                "suppressed_cells",
                "vulnerability_of_records",
                "vulnerability_of_sensitive",
                "without_suppressed",
            ),
            "households": ("Homes", "HouseholdRisks", "OF_MEMBERS"),
            "individual": ("UNDERSTATES", "approximated", "individual_risk", "population_sizes", "simple_uniqueness"),
            "interval": ("Interval",),
            "itemsets": ("Items", "MOST_KNOWN", "checked_separator", "is_collection", "items_of", "least_supports", "supports"),
            "loglinear": ("CellWeights", "ModelFit", "loglinear_uniqueness"),
            "loglinear_search": ("fitted_model",),
            "population": ("PopulationUniqueness", "checked_sampling_fraction", "population_uniqueness"),
            "scan": ("Scan", "scan_study"),
            "scan_checkpoint": ("default_place",),
            "special_uniqueness": ("SpecialSummary", "find_special_uniques"),
            "subset_walk": ("Subset",),
            "text_leaks": ("TextLeaks", "known_forms", "leaks_of", "mark_or"),
            "unnamed": (
                "ColumnExposure",
                "Unmeasured",
                "column_exposure",
                "column_exposures",
                "first_of",
                "never_measured",
                "records_alone",
                "singled_out",
                "singled_out_by",
            ),
            "wildcard": ("covering", "wildcard_sums"),
        },
    )
