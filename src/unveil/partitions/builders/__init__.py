"""Builders of hierarchies: intervals, neighbours, masked codes, periods, rare values; or the one that suits the column."""

from __future__ import annotations

from unveil.partitions.builders.automatic import HierarchyProposal, propose
from unveil.partitions.builders.base import Builder, Groups, Intervals, Rare, RootOnly
from unveil.partitions.builders.codes import PostalCodes, Redaction
from unveil.partitions.builders.dates import Dates

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
