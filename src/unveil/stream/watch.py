"""Watches of a stream: figures of its window when due, alarms, and a state from which to continue however a run ended.

Records are pulled when there is time for them, so a source that is faster than the measures has to wait. The state is stored
only between batches; it contains the window, the position of the source after it, the alarms and the position of the lines
written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from unveil.sources import RecordStream, StreamBatch
from unveil.stream.alarms import Alarm, Fact
from unveil.stream.checkpoint import Checkpoint
from unveil.stream.figures import WindowFigures
from unveil.stream.series import Series, Undecided
from unveil.stream.sinks import Sink
from unveil.stream.window import Window

__all__ = ["Judge", "Watch"]

Judge = Callable[[Window], Mapping[str, bool | str]]
"""A function that returns for each rule of a policy whether it is broken, or the reason why it cannot be judged (a text)."""


class Watch:
    """A window that is fed from a source.

    Parameters
    ----------
    source
        The source of records.
    window
        The window, with `every`.
    alarms
        Conditions on the figures, checked once the window has been full, or when the stream ends.
    judge
        A function that decides which rules of a policy are broken.
    checkpoint, interval
        The file for the state, and the number of seconds after which it is stored again.
    malformed
        The sink for records that cannot be read; without it, they are only counted.
    lines
        The sink for the lines of figures; its position is part of the state.
    """

    def __init__(
        self,
        source: RecordStream,
        window: Window,
        *,
        alarms: Sequence[Alarm] = (),
        judge: Judge | None = None,
        checkpoint: Checkpoint | None = None,
        interval: float = 5.0,
        malformed: Sink | None = None,
        lines: Sink | None = None,
    ) -> None:
        self._source, self.window = source, window
        self._alarms = list(alarms)
        self._judge = judge
        self._rules: dict[str, Fact] = {}
        self._checkpoint, self._interval = checkpoint, interval
        self._malformed, self._lines = malformed, lines
        self._position: Any = None
        self._stopping = False
        self.series = Series()
        self.ever_raised: list[str] = []
        self.undecided: dict[str, Undecided] = {}
        self.malformed = 0

    def stop(self) -> None:
        """Stop the run at the next batch."""
        self._stopping = True

    def run(self) -> Generator[WindowFigures | None, None, None]:
        """Yield the figures when they are due, and None now and then while nothing arrives; the last may be partial."""
        try:
            self._resume()
            yield from self._followed()
            self._save()
            last = self.window.finish()
            if last is not None:
                yield self._with_alarms(last)
            for sink in self._sinks:
                sink.position()
        finally:
            self._source.close()
            for sink in self._sinks:
                sink.close()

    def _followed(self) -> Iterator[WindowFigures | None]:
        """Yield figures until the source ends or the run is stopped; save the state now and then."""
        saved, changed = time.monotonic(), False
        for batch in self._source.batches(self.window.columns, self._position):
            if batch is not None:
                for figures in self.window.feed(self._well_formed(batch)):
                    yield self._with_alarms(figures)
                self._position, changed = batch.position, True
            else:
                yield None
            if changed and time.monotonic() - saved >= self._interval:
                self._save()
                saved, changed = time.monotonic(), False
            if self._stopping:
                return

    @property
    def _sinks(self) -> list[Sink]:
        return [sink for sink in (self._lines, self._malformed) if sink is not None]

    def _well_formed(self, batch: StreamBatch) -> Any:
        """Set malformed records aside, and return the others."""
        for content in batch.malformed:
            self.malformed += 1
            if self._malformed is not None:
                self._malformed.write(self.malformed, content)
        return batch.frame

    def _with_alarms(self, figures: WindowFigures) -> WindowFigures:
        """Return figures with the alarms raised, after adding them to the series."""
        counters = {**figures.counters, **({"malformed": self.malformed} if self.malformed else {})}
        figures = replace(figures, counters=counters)
        undecided: dict[str, str] = {}
        if self.window.full or figures.partial:
            for alarm in self._alarms:
                alarm.update(alarm.value_in(figures))
            undecided = self._judged(figures)
        raised = [alarm.text for alarm in self._alarms if alarm.raised]
        raised += [rule for rule, fact in self._rules.items() if fact.raised]
        self.ever_raised += [text for text in raised if text not in self.ever_raised]
        figures = replace(figures, alarms=tuple(raised), undecided=undecided)
        self.series.add(figures)
        if self._lines is not None:
            self._lines.write(figures.number, json.dumps(figures.to_dict()).encode())
        return figures

    def _judged(self, figures: WindowFigures) -> dict[str, str]:
        """Update the rules of the policy that are broken, and return those that cannot be judged, with the reason."""
        verdict = {} if self._judge is None or not figures.records else self._judge(self.window)
        undecided = {rule: outcome for rule, outcome in verdict.items() if isinstance(outcome, str)}
        for rule, outcome in verdict.items():
            self._rules.setdefault(rule, Fact(rule)).update(None if isinstance(outcome, str) else outcome)
        for rule, reason in undecided.items():
            before = self.undecided.get(rule)
            self.undecided[rule] = Undecided(rule, reason, 1 + (0 if before is None else before.windows))
        return undecided

    # State --------------------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        """Save the state, and tell the source that it is saved."""
        if self._checkpoint is None or self._position is None:
            return
        self._write_state()
        self._source.committed(self._position)

    def _write_state(self) -> None:
        if self._checkpoint is None:
            return
        document, arrays = self.window.state()
        sinks = {
            "lines": None if self._lines is None else self._lines.position(),
            "apart": None if self._malformed is None else self._malformed.position(),
        }
        alarms = [alarm.state() for alarm in self._alarms]
        rules = [fact.state() for fact in self._rules.values()]
        own = {
            "alarms": alarms,
            "rules": rules,
            "ever": self.ever_raised,
            "undecided": [asdict(one) for one in self.undecided.values()],
            "malformed": self.malformed,
            "series": self.series.state(),
        }
        self._checkpoint.write({"window": document, "position": self._position, **sinks, **own}, arrays)

    def _resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        kept = None if self._checkpoint is None else self._checkpoint.read()
        if kept is None:
            for sink in self._sinks:
                sink.go_to(None)
            if self._sinks:
                self._write_state()  # the start of the lines, so that a run that is killed at once does not write them twice
            return
        document, arrays = kept
        self.window.restore(document["window"], arrays)
        self._position, self.malformed = document["position"], document["malformed"]
        self.ever_raised = list(document["ever"])
        self.undecided = {one["rule"]: Undecided(**one) for one in document["undecided"]}
        self.series = Series.of(document["series"])
        for alarm, state in zip(self._alarms, document["alarms"], strict=True):
            alarm.raised, alarm.calm = state["raised"], state["calm"]
        self._rules = {state["text"]: Fact(**state) for state in document["rules"]}
        if self._lines is not None:
            self._lines.go_to(document["lines"])
        if self._malformed is not None:
            self._malformed.go_to(document["apart"])
