"""From count tables to numbers: entropy, the Discrimination Rate, distances, uniqueness and risk."""

OPEN_MODULES = (
    "approximate",
    "by_value",
    "discrimination",
    "diversity",
    "entropy",
    "equivalence",
    "households",
    "individual",
    "itemsets",
    "interval",
    "loglinear",
    "loglinear_search",
    "population",
    "scan",
    "scan_checkpoint",
    "special_uniqueness",
    "subset_walk",
    "text_leaks",
    "unnamed",
    "wildcard",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
