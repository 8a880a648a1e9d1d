"""Hierarchies of Adult's attributes for the experiments, of our own, and the documents' groups of occupations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from unveil.partitions import Hierarchy, Partition

__all__ = ["OCCUPATIONS", "PRINTED_OCCUPATIONS", "hierarchies", "mended"]

_AGE = (
    [*range(15, 95, 5), "inf"],
    [*range(10, 100, 10), "inf"],
    [0, 20, 40, 60, 80, "inf"],
    [0, 80, "inf"],
)
"""Edges of the levels above a year of age; the last is the one that the thesis prints for its release."""

_MEANINGS: Mapping[str, Mapping[tuple[str, ...], Sequence[str]]] = {
    "education": {
        ("no diploma", "primary"): ("Preschool", "1st-4th", "5th-6th"),
        ("no diploma", "some secondary"): ("7th-8th", "9th", "10th", "11th", "12th"),
        ("diploma", "high school"): ("HS-grad",),
        ("diploma", "some college"): ("Some-college", "Assoc-voc", "Assoc-acdm"),
        ("degree", "bachelor"): ("Bachelors",),
        ("degree", "graduate"): ("Masters", "Prof-school", "Doctorate"),
    },
    "marital-status": {
        ("lives with a spouse", "married"): ("Married-civ-spouse", "Married-AF-spouse"),
        ("lives without", "no longer with a spouse"): ("Divorced", "Separated", "Widowed", "Married-spouse-absent"),
        ("lives without", "never married"): ("Never-married",),
    },
    "native-country": {
        ("United States", "United States"): ("United-States",),
        ("abroad", "Central America and the Caribbean"): (
            "Cuba", "Dominican-Republic", "El-Salvador", "Guatemala", "Haiti", "Honduras", "Jamaica", "Mexico", "Nicaragua",
            "Outlying-US(Guam-USVI-etc)", "Puerto-Rico", "Trinadad&Tobago",
        ),
        ("abroad", "South America"): ("Columbia", "Ecuador", "Peru"),
        ("abroad", "Europe and Canada"): (
            "Canada", "England", "France", "Germany", "Greece", "Holand-Netherlands", "Hungary", "Ireland", "Italy", "Poland",
            "Portugal", "Scotland", "Yugoslavia",
        ),
        ("abroad", "Asia"): (
            "Cambodia", "China", "Hong", "India", "Iran", "Japan", "Laos", "Philippines", "Taiwan", "Thailand", "Vietnam",
        ),
        ("abroad", "not clear"): ("South",),
    },
    "race": {("White",): ("White",), ("other than White",): ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other")},
    "workclass": {
        ("private", "employed"): ("Private",),
        ("private", "self-employed"): ("Self-emp-inc", "Self-emp-not-inc"),
        ("private", "unpaid"): ("Without-pay", "Never-worked"),
        ("public", "government"): ("Federal-gov", "Local-gov", "State-gov"),
    },
    "sex": {(): ("Female", "Male")},
    "occupation": {
        ("offices", "professional"): ("Exec-managerial", "Prof-specialty", "Tech-support"),
        ("offices", "clerical and sales"): ("Adm-clerical", "Sales"),
        ("manual", "skilled"): ("Craft-repair", "Machine-op-inspct", "Transport-moving"),
        ("manual", "labour"): ("Farming-fishing", "Handlers-cleaners"),
        ("services", "personal"): ("Other-service", "Priv-house-serv"),
        ("services", "protection"): ("Armed-Forces", "Protective-serv"),
    },
}  # fmt: skip
"""For each attribute, the values by their labels, the coarsest first; the root is added."""

PRINTED_OCCUPATIONS: tuple[tuple[str, ...], ...] = (
    ("Adm-clerical", "Exec-managerial", "Prof-specialty", "Transport-moving", "Other-service"),
    ("Handlers-cleaners", "Protective-serv", "Tech-support"),
    ("Craft-repair", "Protective-serv", "Sales"),
    ("Machine-op-inspct", "Armed-Forces", "Priv-house-serv"),
)
"""The groups of occupations as the thesis prints them (section 5.6): one value occurs twice, one of the fourteen is missing."""

OCCUPATIONS: tuple[str, ...] = (
    "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
    "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales", "Tech-support",
    "Transport-moving",
)  # fmt: skip
"""The fourteen occupations."""


@cache
def hierarchies() -> dict[str, Hierarchy]:
    """Return a hierarchy, up to a common root, for each key attribute of the experiments, and for the occupation.

    Examples
    --------
    >>> {name: hierarchy.height for name, hierarchy in hierarchies().items()}
    {'age': 5, 'education': 3, 'marital-status': 3, 'native-country': 3, 'race': 2, 'workclass': 3, 'sex': 1, 'occupation': 3}
    """
    ages = Hierarchy.from_partitions(range(17, 91), _AGE, column="age").with_root()
    return {"age": ages, **{name: _hierarchy(name, labels) for name, labels in _MEANINGS.items()}}


def _hierarchy(name: str, meanings: Mapping[tuple[str, ...], Sequence[str]]) -> Hierarchy:
    rows = [(value, *reversed(labels)) for labels, values in meanings.items() for value in values]
    return Hierarchy(name, rows).with_root()


def mended(blocks: Sequence[Sequence[Any]], values: Sequence[Any]) -> Partition:
    """Return the partition that printed blocks represent, even if they do not form one.

    A value keeps its place in the first block that names it; a value that no block names gets a block of its own.

    Examples
    --------
    >>> mended([["a", "b"], ["b", "c"]], ["a", "b", "c", "d"]).to_dict()["blocks"]
    [['a', 'b'], ['c'], ['d']]
    """
    left = list(dict.fromkeys(value for block in blocks for value in block))
    kept = []
    for block in blocks:
        kept.append([value for value in block if value in left])
        left = [value for value in left if value not in block]
    alone = [[value] for value in values if not any(value in block for block in kept)]
    return Partition.from_blocks([*(block for block in kept if block), *alone])
