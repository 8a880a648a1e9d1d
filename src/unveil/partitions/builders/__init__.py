"""Builders of hierarchies: intervals, neighbours, masked codes, periods, rare values; or the one that suits the column."""

from __future__ import annotations

from unveil.partitions.builders.automatic import HierarchyProposal, propose
from unveil.partitions.builders.base import Builder, RootOnly
from unveil.partitions.builders.codes import Redaction
from unveil.partitions.builders.dates import Dates
from unveil.partitions.builders.frequency import Rare
from unveil.partitions.builders.intervals import Intervals
from unveil.partitions.builders.order import Groups
from unveil.partitions.builders.postal import PostalCodes

__all__ = [
    "Builder",
    "Dates",
    "Groups",
    "HierarchyProposal",
    "Intervals",
    "PostalCodes",
    "Rare",
    "Redaction",
    "RootOnly",
    "propose",
]
