"""The progress of a window in a long batch, reported to the active run after every piece."""

from __future__ import annotations

from collections.abc import Callable

from unveil.run import active_run

__all__ = ["PIECE", "telling"]

PIECE = 1 << 16
"""The number of records of a piece, after which a window also checks whether there are many old values to forget."""


def telling(records: int) -> Callable[[int], None]:
    """Return a function to call with the number of finished records; for a batch of one piece, it reports nothing.

    Examples
    --------
    >>> from unveil.run import Run
    >>> with Run(lambda *step: print(*step)):
    ...     told = telling(PIECE + 10)
    ...     for done in (0, 5, PIECE, PIECE + 10):
    ...         told(done)
    records 0 65546
    records 65536 65546
    records 65546 65546
    """
    run, due = active_run(), 0

    def told(done: int) -> None:
        nonlocal due
        run.check()
        if records > PIECE and (done >= due or done == records):
            run.at("records", done, records)
            due = done + PIECE

    return told
