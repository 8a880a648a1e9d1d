"""Measures and releases over the moving window of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unveil.doors import lazily
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

if TYPE_CHECKING:
    from unveil.stream.alarms import Alarm
    from unveil.stream.checkpoint import Checkpoint
    from unveil.stream.derived_columns import parse_derived
    from unveil.stream.metrics import MetricsPage
    from unveil.stream.release_run import ReleaseRun
    from unveil.stream.series import Series, WatchRun
    from unveil.stream.sinks import open_sink
    from unveil.stream.times import MICROS, duration_of
    from unveil.stream.watch import Judge, Watch
else:
    __getattr__ = lazily(
        __name__,
        {
            "alarms": ("Alarm",),
            "checkpoint": ("Checkpoint",),
            "derived_columns": ("parse_derived",),
            "metrics": ("MetricsPage",),
            "release_run": ("ReleaseRun",),
            "series": ("Series", "WatchRun"),
            "sinks": ("open_sink",),
            "times": ("MICROS", "duration_of"),
            "watch": ("Judge", "Watch"),
        },
    )
