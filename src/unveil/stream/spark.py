"""Windows over Spark Structured Streaming: the executors count each micro-batch, and the driver adds and expires the counts.

Spark keeps the offsets and repeats the last micro-batch after a failure; the state kept here records the last one counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError
from unveil.sources import COUNTED, counted_batch
from unveil.stream.checkpoint import Checkpoint
from unveil.stream.figures import WindowFigures
from unveil.stream.window import Window

__all__ = ["each_batch"]


@checked_arguments
def each_batch(
    window: Window, show: Callable[[WindowFigures], Any], *, state: str | os.PathLike[str] | None = None
) -> Callable[[Any, int], None]:
    """Return a function for `DataStreamWriter.foreachBatch` that feeds a window and shows the figures that are due.

    Parameters
    ----------
    window
        A window by time whose duration is a multiple of `every`, or a window since the start. A micro-batch has no order, so a
        window by number of records would be meaningless.
    show
        A function called with the figures.
    state
        A file that keeps the window and the number of the last micro-batch, so that a repeated one is not counted again.

    Examples
    --------
    >>> window = Window("cell", duration="1h", time="when", every="1m")
    >>> counting = each_batch(window, print)  # stream.writeStream.foreachBatch(counting).start()
    """
    step = window.step
    if window.time is None or step is None:
        raise ArgumentError("a window over Spark uses the records' own times; give it time= and every=.")
    if window.length is not None and window.length % step:
        raise ArgumentError(
            "over Spark, the duration of a window must be a multiple of every, as records are counted in these steps."
        )
    checkpoint = None if state is None else Checkpoint(state, {"window": repr(window).rpartition(":")[0], "step": step})
    last = -1
    if checkpoint is not None and (kept := checkpoint.read()) is not None:
        window.restore(kept[0]["window"], kept[1])
        last = int(kept[0]["batch"])

    def count(frame: Any, number: int) -> None:
        nonlocal last
        if number <= last:
            return
        counts = counted_batch(frame, window.columns, window.time, step)
        if counts.height:
            for figures in window.feed(counts.sort(window.time or ""), COUNTED):
                show(figures)
        last = number
        if checkpoint is not None:
            document, arrays = window.state()
            checkpoint.write({"window": document, "batch": number}, arrays)

    return count
