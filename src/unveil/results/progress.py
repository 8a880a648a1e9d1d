"""How far is the work? What a call tells whoever waits for its answer, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

__all__ = ["Progress", "Stages", "Steps"]

Steps: TypeAlias = Callable[[int, int], None]
"""Called with the steps done and the number of all."""
Stages: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of a stage, the steps done and the number of all."""
_Item = TypeVar("_Item")


class Progress:
    """Tells the caller how far each stage is; without one to tell, nobody."""

    def __init__(self, tell: Stages | None) -> None:
        self._tell = tell

    def at(self, stage: str, done: int, total: int) -> None:
        """Tell how far a stage is."""
        if self._tell is not None:
            self._tell(stage, done, total)

    @contextmanager
    def stage(self, stage: str) -> Iterator[Steps]:
        """Tell that a stage begins and, once it is left, that it is done; in between its steps may be told."""
        last = 1

        def steps(done: int, total: int) -> None:
            nonlocal last
            last = total
            self.at(stage, done, total)

        self.at(stage, 0, 1)
        yield steps
        self.at(stage, last, last)

    def counting(self, stage: str, total: int) -> Callable[[], None]:
        """Return what is called after each step of a stage."""
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            self.at(stage, done, total)

        self.at(stage, 0, total)
        return step

    def each(self, stage: str, items: Collection[_Item]) -> Iterator[_Item]:
        """Give items one by one, each a step of a stage that is done when the next is asked for."""
        if not items:
            return
        step = self.counting(stage, len(items))
        for item in items:
            yield item
            step()
