"""The options of the verbs that make a release: the table, the mechanism, the order of records, and the output."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import typed
from unveil.cli.completion import offering
from unveil.cli.model_options import ModelOptions, SensitiveColumns
from unveil.cli.options import (
    Data,
    Household,
    Keep,
    Key,
    NullPolicy,
    OnlyRoles,
    Person,
    ReleaseKeyFile,
    Seed,
    Testing,
    give,
)
from unveil.cli.study_options import Inputs, NamedRoles, ReadingOptions, gather, orders
from unveil.credentials import without_credentials
from unveil.errors import ArgumentError, shown
from unveil.output import check_replaceable, together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unveil.cli.model_options import ModelOptions
    from unveil.models import Model
    from unveil.project import Step
    from unveil.releases import Release
    from unveil.sources import Address

__all__ = [
    "DrawOptions",
    "FileOptions",
    "MechanismOptions",
    "OrderOptions",
    "ReleaseOptions",
    "SearchOptions",
    "TableOptions",
    "announce_written",
    "give_made",
    "is_sink",
    "settings_of",
]


def _writable(place: Path | None) -> Path | None:
    """Refuse, before the work begins, a place to which no file can be written."""
    if place is not None:
        check_replaceable(place)
    return place


def _file(place: Path | None) -> Path | None:
    """Refuse a place to which no release can be written, or whose ending names no format."""
    from unveil.releases import checked_place

    return None if place is None else checked_place(place)


_ENDINGS = (".ndjson", ".jsonl")


def is_sink(place: str) -> bool:
    """Whether a place receives records one by one: lines of JSON, a Kafka topic, a Redis stream."""
    return place.endswith(_ENDINGS) or place.startswith(("kafka://", "redis://", "rediss://"))


def _file_or_table(place: str) -> Path | Address | str:
    """Return the file or the table of a release, or the place of a stream; refuse a file as `_file` does."""
    from unveil.releases import checked_place
    from unveil.sources import parse_address

    return place if is_sink(place) else parse_address(place) or checked_place(place)


@dataclass(frozen=True, slots=True)
class TableOptions:
    """The table to protect, its roles, and the way in which it is read."""

    data: Data = None
    key: Key = None
    sensitive: SensitiveColumns = None
    person: Person = None
    household: Household = None
    keep: Keep = None
    only_roles: OnlyRoles = False
    nulls: NullPolicy = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> Inputs:
        """Return the statements of the command line and the project file about the table."""
        roles = NamedRoles(
            self.key, self.sensitive, nulls=self.nulls, person=self.person, household=self.household, keep=self.keep,
            only_roles=self.only_roles,
        )  # fmt: skip
        return gather(self.data, self.reading, roles)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The suppression, omitted columns and limits of a search for a generalisation."""

    suppression: Annotated[float, typer.Option(metavar="SHARE", help="The share of records that may be suppressed.")] = 0.0
    identifier: Annotated[
        list[str] | None, typer.Option("--identifier", metavar="COLUMN", help="A column that names people: left out.")
    ] = None
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="When to stop searching, and return the best so far.")
    ] = None
    node_limit: Annotated[
        int | None, typer.Option("--node-limit", min=1, metavar="N", help="Look at no more than N generalisations.")
    ] = None

    def options(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments of a call; the project's identifiers come with the study."""
        return {
            "suppression": self.suppression,
            "identifiers": tuple(self.identifier or ()),
            "nulls": inputs.nulls,
            "time_limit": self.time_limit,
            "node_limit": self.node_limit,
        }


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """The draw of the order of records."""

    keep_order: Annotated[bool, typer.Option("--keep-order", help="Leave the records in their order.")] = False
    seed: Seed = None
    key_file: ReleaseKeyFile = None

    def options(self) -> dict[str, Any]:
        """Return the arguments of a call."""
        return {"keep_order": self.keep_order, "seed": self.seed, "key_file": self.key_file}


@dataclass(frozen=True, slots=True)
class DrawOptions(OrderOptions):
    """The draws of the order of records, and of everything else that a mechanism draws."""

    testing: Testing = False

    def of_steps(self) -> dict[str, Any]:
        """Return the arguments of steps, which may draw more than an order."""
        return {**self.options(), "testing": self.testing}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The output of a release, and of its private correspondence."""

    link: Annotated[
        Path | None,
        typer.Option("--link", metavar="FILE", help="Write the private correspondence of release and data.", callback=_writable),
    ] = None
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe", help="In .csv and .tsv: put an apostrophe before texts that a spreadsheet would compute."
        ),
    ] = False
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the chosen release: .csv, .tsv, .parquet, .arrow or .xlsx.", callback=_file
        ),
    ] = None

    def check(self) -> None:
        """Refuse, before the work begins, to neutralise formulas in a format that no spreadsheet opens as text."""
        from unveil.sources import require_delimited

        if self.spreadsheet_safe and self.out is not None:
            require_delimited(self.out)

    def write(self, release: Release[Any]) -> None:
        """Write a release and its correspondence, both or neither, and report it."""
        with together():
            if self.link is not None:
                release.write_link(self.link)
            if self.out is not None:
                release.write(self.out, spreadsheet_safe=self.spreadsheet_safe)
        announce_written([] if self.out is None else [self.out], self.link)

    def options(self) -> dict[str, Any]:
        """Return the arguments of a call; without an output of the release, no record is read unless it must be."""
        return {
            "out": self.out, "link": self.link, "spreadsheet_safe": self.spreadsheet_safe, "dry_run": self.out is None,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReleaseOptions(FileOptions):
    """The output of a release that an engine may write itself."""

    out: Annotated[
        Any,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write the release: .csv, .tsv, .parquet, .arrow, .xlsx, or a new table in the database of the data.",
            parser=_file_or_table,
        ),
    ] = None

    def check(self) -> None:
        """Refuse, before the work begins, places that receive records one by one, and anything that `FileOptions` refuses."""
        if isinstance(self.out, str):
            raise ArgumentError(
                "lines of JSON, topics and Redis streams take records as they arrive; use --stream to release to them."
            )
        FileOptions.check(self)

    def require_file(self) -> None:
        """Refuse a table of an engine as the output of a mechanism."""
        if self.out is not None and not isinstance(self.out, Path):
            raise ArgumentError("a mechanism needs the records in memory, so the release goes into a file.")


def announce_written(out: Sequence[Path | Address], link: Path | None) -> None:
    """Report the written files."""
    if link is not None:
        sys.stderr.write(f"written: {without_credentials(link)} (keep it private: it undoes the protection)\n")
    for place in out:
        sys.stderr.write(f"written: {without_credentials(place) if isinstance(place, Path) else place.place}\n")


_OF_LATTICE = ("objective", "level", "weight", "factor", "node_limit")
"""Options of the search through whole generalisations."""
_ARGUMENTS = {
    **{name: name for name in (*_OF_LATTICE, "population", "suppression", "time_limit")},
    "level": "levels", "weight": "weights", "order": "orders", "hierarchy": "hierarchies", "hierarchy_dir": "hierarchies",
}  # fmt: skip
"""The arguments of mechanisms behind the options of models and searches; all others name models."""


@dataclass(frozen=True, slots=True)
class MechanismOptions:
    """A mechanism of protection, its columns, and its settings."""

    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="MECHANISM|any",
            help="The mechanism to use instead of generalisation: microaggregate, pram, ...; any: whichever is best.",
        ),
    ] = None
    need: Annotated[
        list[str] | None,
        typer.Option("--need", metavar="NEED", help="With --mechanism any or dp_synthesize: NAME: TARGET given A, B."),
    ] = None
    attribute: Annotated[
        list[str] | None, typer.Option("--attribute", metavar="COLUMN", help="A column for the mechanism; repeat it for more.")
    ] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="OPTION=VALUE", help="A setting of the mechanism, such as k=5.")
    ] = None
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="FILE", help="Write the loss of differential privacy here; refuse to overspend."),
    ] = None
    budget: Annotated[str | None, typer.Option("--budget", metavar="EPSILON[:DELTA]", help="The budget of a new ledger.")] = None
    neighbours: Annotated[
        str | None,
        typer.Option(
            "--neighbours",
            metavar="WORDS",
            help="For a new ledger: 'add or remove' (default) or 'change one'.",
            autocompletion=offering("add or remove", "change one"),
        ),
    ] = None
    pseudonymize: Annotated[
        list[str] | None,
        typer.Option("--pseudonymize", metavar="COLUMN", help="A column that names people: its values become keyed hashes."),
    ] = None

    def plan(
        self, inputs: Inputs, table: TableOptions, models: ModelOptions, search: SearchOptions
    ) -> tuple[list[Step], list[Model]]:
        """Return the steps to run, from the options or the project; without steps, the models to meet by generalisation."""
        from unveil.protect import fitting_step, planned_steps

        if self.need and self.mechanism is None:
            raise ArgumentError("--need goes with --mechanism any, which looks for what serves it; see unveil front.")
        planned = [] if inputs.project is None else planned_steps(inputs.project)
        required = models.required(inputs) or ([] if planned else inputs.planned_models())
        if self.mechanism is None:
            if self.attribute or self.settings or self.ledger or self.budget or self.neighbours:
                raise ArgumentError("--attribute, --set, --ledger, --budget and --neighbours go with a --mechanism; name one.")
            if planned and not required:
                _refuse_unheeded("the steps of the project", (), models, search)
            return [] if required else planned, required
        if self.pseudonymize:
            raise ArgumentError("--pseudonymize goes with generalisation; with a --mechanism, plan it as a step of its own.")
        _refuse_unheeded(self.mechanism, self._options(), models, search)
        known: dict[str, Any] = {
            **search.options(inputs), "identifiers": None, "nulls": None, "suppression": search.suppression or None,
            "models": required, "k": models.k, "hierarchies": models.hierarchies(inputs, required),
            "orders": orders(models.order, None, inputs.source.names),  # the study has those of the project
            "population": table.reading.source_if_named(models.population, "population", inputs.project),
            "sensitive": table.sensitive[0] if table.sensitive else None,
            "workload": self._workload(inputs), "ledger": self._ledger(),
        }  # fmt: skip
        return [fitting_step(self.mechanism, self.attribute or inputs.key or (), settings_of(self.settings), known)], []

    def _ledger(self) -> str | None:
        """Return the file of the ledger, created if a budget is named; refuse one for a mechanism without a privacy loss."""
        if self.ledger is None:
            if self.budget is not None or self.neighbours is not None:
                raise ArgumentError("--budget and --neighbours go with --ledger, the file that remembers what was spent.")
            return None
        if "ledger" not in self._options():
            raise ArgumentError(
                f"--ledger is for mechanisms of differential privacy; {self.mechanism} has no loss to account for."
            )
        from unveil.mechanisms import PrivacyLedger

        PrivacyLedger(self.ledger, self.budget, neighbours=self.neighbours).close()
        return str(self.ledger)

    def _options(self) -> tuple[str, ...]:
        """Return the options that the mechanism accepts."""
        import inspect

        from unveil.protect import step_function

        return tuple(inspect.signature(step_function(str(self.mechanism))).parameters)

    def _workload(self, inputs: Inputs) -> list[list[str]]:
        """Return the attributes of each stated need, for a mechanism that serves needs; refuse needs for any other."""
        from unveil.project import Need

        if self.need and "workload" not in self._options():
            raise ArgumentError(f"--need goes with --mechanism any or dp_synthesize; {self.mechanism} serves none in particular.")
        needs = [*inputs.planned_needs(), *(Need.parse(text) for text in self.need or ())]
        return [list(dict.fromkeys((need.target, *need.given))) for need in needs]


def _refuse_unheeded(what: str, takes: Sequence[str], models: ModelOptions, search: SearchOptions) -> None:
    """Refuse requirements and limits that a mechanism ignores, so that nobody believes that the release meets them."""
    for name, word in (typed(models) | typed(search)).items():
        needs = _ARGUMENTS.get(name, "models")
        lattice = name in _OF_LATTICE and "levels" not in takes
        if name != "identifier" and (lattice or not (needs in takes or (name == "k" and "k" in takes))):
            raise ArgumentError(
                f"{word} has no effect on {what}. Leave it out, or generalise; whether a release meets a requirement, "
                "unveil check can tell."
            )


def give_made(made: Any, steps: Sequence[Step], to: ReleaseOptions, *, as_json: bool) -> None:
    """Write the release of one or several steps, and show the report."""
    from unveil.releases import Release

    release = isinstance(made, Release)
    if to.link is not None and (not release or len(made.tables) > 1):
        raise ArgumentError(f"{steps[0].mechanism} makes records that correspond to no others, so there is no --link.")
    places = made.places(to.out) if to.out is not None and release else []
    with together():
        if places:
            made.write(*places, spreadsheet_safe=to.spreadsheet_safe)
        if to.link is not None:
            made.write_link(to.link)
    announce_written(places, to.link)
    give(made, as_json=as_json, out=None if release else to.out, spreadsheet_safe=to.spreadsheet_safe)


def settings_of(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return the settings of a mechanism, from the texts of --set."""
    return dict(_setting(text) for text in texts or ())


def _setting(text: str) -> tuple[str, Any]:
    """Read OPTION=VALUE, with the value in the form of TOML; a value that is not TOML is text."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ArgumentError(f"--set takes OPTION=VALUE, not {shown(text)}.")
    try:
        return name.strip().replace("-", "_"), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip().replace("-", "_"), value
