"""The choice of a protection: lattice search, Mondrian, local recoding and suppression, guided by the Discrimination Rate."""

OPEN_MODULES = (
    "hierarchies",
    "lattice.applied",
    "lattice.frontier",
    "lattice.generalisation",
    "lattice.objectives",
    "lattice.question",
    "lattice.undominated",
    "nesting",
    "request",
    "splitting.labelling",
    "splitting.local_recoding",
    "splitting.mondrian",
    "splitting.subtrees",
    "suppression.local",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
