"""Measures and releases over the moving window of a stream."""

from __future__ import annotations

from unveil.stream.derived_columns import Decimals, GridCell, Hours, Period, Weekday
from unveil.stream.figures import KeyFigures, NeedFigure, WindowFigures
from unveil.stream.release import Publication, StreamRelease, StreamReleased
from unveil.stream.sequential import Intersection, Seen, intersect_releases
from unveil.stream.spark import each_batch
from unveil.stream.unicity import Unicity, UnicityAt, unicity
from unveil.stream.window import Window

__all__ = [
    "Decimals",
    "GridCell",
    "Hours",
    "Intersection",
    "KeyFigures",
    "NeedFigure",
    "Period",
    "Publication",
    "Seen",
    "StreamRelease",
    "StreamReleased",
    "Unicity",
    "UnicityAt",
    "Weekday",
    "Window",
    "WindowFigures",
    "each_batch",
    "intersect_releases",
    "unicity",
]

OPEN_MODULES = (
    "alarms",
    "checkpoint",
    "derived_columns",
    "figures",
    "metrics",
    "release",
    "release_run",
    "sequential",
    "series",
    "sinks",
    "times",
    "unicity",
    "watch",
    "window",
)
"""Modules of this room that other rooms may import from; all others are private to it."""
