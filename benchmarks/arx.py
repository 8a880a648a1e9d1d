"""What does ARX find, and how long does it take? Java programs of our own run it, if `UNVEIL_ARX_JAR` names its jar."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from unveil.models import EntropyLDiversity, KAnonymity, TCloseness

__all__ = ["HEURISTICS", "Arx", "ArxError", "ArxRequest", "Required", "Searched", "given_jar", "requirement"]

HEURISTICS = {
    "bottom-up": "BEST_EFFORT_BOTTOM_UP",
    "top-down": "BEST_EFFORT_TOP_DOWN",
    "genetic": "BEST_EFFORT_GENETIC",
    "binary": "BEST_EFFORT_BINARY",
}
"""ARX's heuristic searches, which a time limit ends, by a short name."""
_PROGRAMS = sorted(Path(__file__).parent.glob("Arx*.java"))
_FOLDER = Path("build/peers/arx")

Required = KAnonymity | EntropyLDiversity | TCloseness
"""The models that the programs know."""


class ArxError(Exception):
    """ARX cannot be run; the message says why, in words for a row."""


def given_jar() -> Path | None:
    """Return the jar that `UNVEIL_ARX_JAR` names; None if it is not set."""
    named = os.environ.get("UNVEIL_ARX_JAR")
    return Path(named) if named else None


@dataclass(frozen=True, slots=True)
class ArxRequest:
    """What ARX is to search for.

    Attributes
    ----------
    data
        The table.
    hierarchies
        The start of the hierarchies' paths, to which a name and ".csv" are added.
    keys, models, share
        The key attributes, what is required, and the share of the records that may be suppressed.
    """

    data: pl.DataFrame
    hierarchies: str
    keys: Sequence[str]
    models: Sequence[Required]
    share: float

    @property
    def collector(self) -> str:
        """The garbage collector that costs ARX the least: the plain one on small tables, the usual one on large ones."""
        return "-XX:+UseSerialGC" if self.data.height < 100_000 else "-XX:+UseG1GC"


@dataclass(frozen=True, slots=True)
class Searched:
    """What ARX found: seconds of a search, the loss, the records suppressed, and the level of each key attribute."""

    seconds: float
    score: float
    suppressed: int
    levels: dict[str, int]

    @property
    def fixed(self) -> dict[str, tuple[int, int]]:
        """Bounds on the levels that leave only this generalisation."""
        return {name: (level, level) for name, level in self.levels.items()}

    @classmethod
    def read(cls, words: str) -> Searched:
        """Read the program's line."""
        seconds, score, suppressed, *levels = words.split()
        pairs = (level.rsplit("=", 1) for level in levels)
        return cls(float(seconds), float(score), int(suppressed), {name: int(level) for name, level in pairs})


@dataclass(frozen=True, slots=True)
class Arx:
    """The programs, compiled for a jar."""

    classpath: str

    @classmethod
    def of(cls, jar: Path) -> Arx:
        """Compile the programs.

        Raises
        ------
        ArxError
            If there is no such jar, no JDK, or the jar does not fit.
        """
        if not jar.is_file():
            raise ArxError("there is no file where UNVEIL_ARX_JAR says")
        if not (shutil.which("javac") and shutil.which("java")):
            raise ArxError("a JDK is needed to run ARX: javac and java are not both there")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["javac", "-proc:none", "-cp", str(jar), "-d", str(_FOLDER), *map(str, _PROGRAMS)]
        _lines(command, "the file that UNVEIL_ARX_JAR names is no ARX library that the programs fit; they were written for 3.9.2")
        return cls(os.pathsep.join([str(_FOLDER), str(jar)]))

    def searched(self, request: ArxRequest, runs: int) -> Searched:
        """Search the generalisations of a table for the one of the least loss, and keep the best time of several runs.

        Raises
        ------
        ArxError
            If ARX stops with an error.
        """
        return Searched.read(self._printed(request, "ArxRun", str(runs))[-1])

    def within(self, request: ArxRequest, heuristic: str, limits: Sequence[int]) -> list[Searched | None]:
        """Search by one of the heuristics with each of the limits, in wall seconds; None if nothing was found.

        Raises
        ------
        ArxError
            If ARX stops with an error.
        """
        lines = self._printed(request, "ArxHeuristics", HEURISTICS[heuristic], ",".join(map(str, limits)))
        return [None if line.endswith("none") else Searched.read(line) for line in lines[-len(limits) :]]

    def recoded_locally(self, request: ArxRequest, share: float, runs: int) -> tuple[float, pl.DataFrame]:
        """Recode a table locally, in rounds for a share of the records; return the best time of several runs, and the release.

        The time is processor time, the release is text.

        Raises
        ------
        ArxError
            If ARX stops with an error.
        """
        with TemporaryDirectory() as folder:
            release = Path(folder, "release.csv")
            lines = self._printed(request, "ArxLocal", str(runs), str(release), str(share))
            return float(lines[-1]), pl.read_csv(release, separator=";", infer_schema=False)

    def _printed(self, request: ArxRequest, program: str, *arguments: str) -> list[str]:
        """Run a program on the table of a request, and return the lines that it prints."""
        with TemporaryDirectory() as folder:
            table = Path(folder, "table.csv")
            request.data.write_csv(table, separator=";")
            command = ["java", request.collector, "-cp", self.classpath, program, *arguments, str(table), request.hierarchies]
            command += [",".join(request.keys), str(request.share), *map(requirement, request.models)]
            return _lines(command, "ARX stopped with an error")


def requirement(model: Required) -> str:
    """Return a model as the programs read it.

    Raises
    ------
    ArxError
        If the programs do not know it.
    """
    if isinstance(model, KAnonymity):
        return f"k:{model.k}"
    if isinstance(model, EntropyLDiversity):
        return f"entropy-l:{model.attribute}:{model.l}"
    if model.distance in {"equal", "hierarchical"}:
        return f"{model.distance}-t:{model.attribute}:{model.t}"
    raise ArxError(f"the programs do not ask ARX for t-closeness by the distance {model.distance!r}")


def _lines(command: Sequence[str], otherwise: str) -> list[str]:
    """Return the lines that a command prints; if it fails, show its first line of error, and raise with the reason."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode != 0:
        print(f"{command[0]}: {[*done.stderr.strip().splitlines(), otherwise][0]}", file=sys.stderr)
        raise ArxError(otherwise)
    return done.stdout.splitlines()
