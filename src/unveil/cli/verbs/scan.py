"""The verb scan: the rate of every subset of the key columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from unveil.cli.application import app, grouped
from unveil.cli.options import showing_progress
from unveil.cli.process import StoppedError, leaving_with
from unveil.cli.study_options import AnswerOptions, StudyOptions


@app.command(epilog="Example: unveil scan adult --key age --key sex --key race --sensitive occupation")
@grouped
def scan(
    options: StudyOptions,
    answer: AnswerOptions,
    max_size: Annotated[int | None, typer.Option("--max-size", help="The largest subsets to look at; default: all.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; default: two if they help.", min=1)] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Keep finished subsets in a file, so that a stopped scan can resume."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the checkpoint if there is one; by default it is beside the data.")
    ] = False,
) -> None:
    """Which columns, alone or together, single people out? The rate of every subset of the key columns (none named: all)."""
    from unveil.measures import default_place
    from unveil.measures.scan import scan as scan_subsets

    study = options.study()
    kept = default_place(study.place) if resume and checkpoint is None else checkpoint
    with _saying_what_is_kept(kept), showing_progress():
        result = scan_subsets(
            study, sensitive=study.sensitive or None, max_size=max_size, threads=threads, checkpoint=kept, resume=resume
        )
    answer.give(result)


@contextmanager
def _saying_what_is_kept(checkpoint: Path | None) -> Iterator[None]:
    """Report after an interrupt that the checkpoint exists, if it does."""

    def kept() -> str:
        if checkpoint is None or not checkpoint.exists():
            return ""
        return f"the checkpoint {str(checkpoint)!r} keeps what is done; the same command with --resume continues it."

    try:
        with leaving_with(kept):
            yield
    except KeyboardInterrupt:
        if words := kept():
            raise StoppedError(words) from None
        raise
