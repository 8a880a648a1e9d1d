"""The publications' figures, recomputed from their printed tables, and their experiments on Adult, repeated."""

from unveil.reproduce import distances, examples, protections, rates
from unveil.reproduce.figures import Agreement, PublishedFigure, Reproduction, agreement
from unveil.reproduce.table_attacks import worked_attacks

__all__ = ["Agreement", "PublishedFigure", "Reproduction", "agreement", "reproduce"]


_PARTS = (
    rates.rates,
    distances.distances,
    rates.resistances,
    rates.overall,
    rates.in_the_text,
    distances.captions,
    distances.steps,
    protections.generalisation,
    protections.anatomy,
    protections.microaggregation,
    examples.beliefs,
    examples.uniqueness,
)


def reproduce() -> Reproduction:
    """Recompute every figure of the publications from their printed tables.

    Examples
    --------
    >>> reproduce()
    Reproduction(249 figures: 223 agree, 26 errata)
    """
    return Reproduction(tuple(figure for part in _PARTS for figure in part()), worked_attacks())
