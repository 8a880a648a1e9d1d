"""Gates: protected access to a table. Questions are answered exactly, with noise or by intervals, or refused, and recorded.

A `Gate` accepts questions in SQL, or as built by `count`, `total` and `average` from conditions on `col`. A policy decides
about them: `Restriction`, `Differential`, `Sticky`, `PerturbedRecords` or `Camouflage`; `Open` protects nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily
from unveil.ledger import Entry, Ledger, LedgerError
from unveil.queries.answers import Answer, Explanation
from unveil.queries.gate import Gate
from unveil.queries.inquiry import Aggregate, Inquiry, average, count, total
from unveil.queries.policies import (
    POLICIES,
    Camouflage,
    Differential,
    GatePolicy,
    Open,
    PerturbedRecords,
    Restriction,
    Sticky,
    policy_of,
)
from unveil.queries.predicates import Predicate, col
from unveil.queries.problems import QuestionError

__all__ = [
    "POLICIES",
    "Aggregate",
    "Answer",
    "Camouflage",
    "Differential",
    "Entry",
    "Explanation",
    "Gate",
    "GatePolicy",
    "Inquiry",
    "Ledger",
    "LedgerError",
    "Open",
    "PerturbedRecords",
    "Predicate",
    "QuestionError",
    "Restriction",
    "Sticky",
    "average",
    "col",
    "count",
    "policy_of",
    "total",
]

if TYPE_CHECKING:
    from unveil.queries.inquiry import Statistic
    from unveil.queries.opening import open_gate, project_policies
    from unveil.queries.parsing import dialects
    from unveil.queries.policies.base import REASONS
    from unveil.queries.predicates import All
else:
    __getattr__ = lazily(
        __name__,
        {
            "inquiry": ("Statistic",),
            "opening": ("open_gate", "project_policies"),
            "parsing": ("dialects",),
            "policies.base": ("REASONS",),
            "predicates": ("All",),
        },
    )
