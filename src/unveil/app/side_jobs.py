"""Jobs of the side screens: comparison with a baseline, protection of a table, watching a file."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unveil.partitions import write_whole
from unveil.project import Project
from unveil.results import Result
from unveil.run import active_run
from unveil.sources import ReadOptions, StreamOptions, open_records, open_source
from unveil.study import Study

if TYPE_CHECKING:
    from unveil.assess import Verdict
    from unveil.stream import WatchRun, WindowFigures

__all__ = ["against_baseline", "build_table", "course", "watch_file"]

_PAUSE = 0.25
"""The least number of seconds between two lines of figures: a person reads no faster."""


def against_baseline(data: str, options: ReadOptions, project: Project, new: str, allow: float) -> Verdict:
    """Compare a new file with the open one: the policy's figures of both, and the growth of each risk.

    Parameters
    ----------
    data, options, project
        The arguments for opening the baseline.
    new
        The new file, read in the same way.
    allow
        The largest growth of a risk that is allowed.
    """
    from unveil.assess import check
    from unveil.models.measure import measure

    study = Study(open_source(data, options), project=project, partial=True)
    policy = project.policy if project.policy.in_force() else None
    before: Result = measure(study) if policy is None else check(study, policy, project=project)
    return check(open_source(new, options), policy, project=project, baseline=before.to_dict(), allow=allow)


def build_table(data: str, options: ReadOptions, project: Project, request: Mapping[str, Any]) -> Result:
    """Build a table, and protect it as requested.

    Parameters
    ----------
    data, options, project
        The arguments for opening the data.
    request
        The columns `by`; the column `value`, or none; the column `holding` that names the contributor of a record, or none;
        The columns `by`; the column `value`, or none; the column `holding` of the contributors of records, or none; whether the
        table has totals (`margins`); the `rules` that decide which cells are sensitive; and the `method` by which cells are
        suppressed. Without a method, sensitive cells are only marked.
    """
    from unveil.tables import table

    study = Study(open_source(data, options), project=project, partial=True)
    holding, margins = request.get("holding"), request.get("margins", True)
    built = table(study, list(request["by"]), value=request["value"], holding=holding, margins=margins)
    rules: Sequence[str] = request["rules"]
    return built.suppress(list(rules), method=request["method"] or "primary") if rules else built


def watch_file(
    data: str,
    window: Mapping[str, Any],
    kept: str,
    *,
    alarms: Sequence[str] = (),
    missing: tuple[str, ...] = (),
    follow: bool = False,
) -> WatchRun:
    """Watch a file: report the figures of its moving window as they come, until the file ends or the job is stopped.

    Parameters
    ----------
    data
        The file, or the name of a built-in data set.
    window
        The arguments of `unveil.Window`.
    kept
        The file that keeps the figures so far, for pages that are loaded in the meantime, and in case the job is stopped.
    alarms
        Conditions on the figures, such as ``dr > 0.8``.
    missing
        Texts that stand for a null.
    follow
        Whether to wait for more at the end of the file.
    """
    from unveil.stream import Alarm, Watch, WatchRun, Window

    run, measured, reported, latest = active_run(), Window(**window), 0.0, None
    source = open_records(data, StreamOptions(follow=follow, missing=missing))
    watch = Watch(source, measured, alarms=[Alarm.parse(text) for text in alarms])
    run.notify("Waiting for the first window")
    for figures in watch.run():  # None: nothing has arrived
        run.check()
        latest = latest if figures is None else figures
        if latest is not None and time.monotonic() - reported > _PAUSE:
            write_whole(kept, json.dumps(watch.series.state()))
            run.notify(_in_words(latest))
            reported, latest = time.monotonic(), None
    left_out = {"malformed": watch.malformed, "late": measured.late}
    return WatchRun(_question(window), watch.series.points, watch.series.total, left_out, watch.ever_raised, ())


def _in_words(figures: WindowFigures) -> str:
    """Return the figures of a window as one line."""
    rate = "no rate" if figures.dr is None else f"rate {figures.dr:.4f}"
    raised = f"; ALARM: {', '.join(figures.alarms)}" if figures.alarms else ""
    return f"Window {figures.number:,}: {figures.records:,} records, {rate}, k {figures.k:,}, {figures.uniques:,} unique{raised}"


def course(kept: Path, window: Mapping[str, Any]) -> WatchRun | None:
    """Return the run so far, from the figures it has kept; None if there are none yet."""
    from unveil.stream import Series, WatchRun

    if not kept.is_file():
        return None
    series = Series.of(json.loads(kept.read_text(encoding="utf-8")))
    return WatchRun(_question(window), series.points, series.total, {}, (), ()) if series.points else None


def _question(window: Mapping[str, Any]) -> str:
    about = window.get("sensitive")
    return ", ".join(window["key"]) + (f" -> {about}" if about else "")
