"""The gains of an intruder from a release: identity, homogeneity, background knowledge, skewness, similarity and linkage.

`attack` makes every attack that its inputs allow; each linkage can also be made on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.attacks.attack import Attack, attack
from unveil.attacks.items import KnownItems, known_items
from unveil.attacks.linkage.distance import distance_linkage
from unveil.attacks.linkage.intervals import interval_disclosure
from unveil.attacks.linkage.probabilistic import probabilistic_linkage
from unveil.attacks.linkage.structure import structure_linkage
from unveil.attacks.minimal_generalisation import minimality
from unveil.attacks.minimality_result import Minimality
from unveil.doors import lazily
from unveil.measures import TextLeaks
from unveil.measures.text_leaks import text_leaks

__all__ = [
    "Attack",
    "KnownItems",
    "Minimality",
    "TextLeaks",
    "attack",
    "distance_linkage",
    "interval_disclosure",
    "known_items",
    "minimality",
    "probabilistic_linkage",
    "structure_linkage",
    "text_leaks",
]

if TYPE_CHECKING:
    from unveil.attacks.attack import planned_attackers
    from unveil.attacks.comparable import ComparablePartitions, propose_partitions
    from unveil.attacks.identity import known_records
else:
    __getattr__ = lazily(
        __name__,
        {
            "attack": ("planned_attackers",),
            "comparable": ("ComparablePartitions", "propose_partitions"),
            "identity": ("known_records",),
        },
    )
