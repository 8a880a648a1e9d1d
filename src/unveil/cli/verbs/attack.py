"""The verb attack: an intruder's gain from a release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unveil.cli.application import app, grouped
from unveil.cli.completion import beginning, offering
from unveil.cli.options import Key, MatchOptions, NullPolicy, Person, showing_progress
from unveil.cli.releases import settings_of
from unveil.cli.study_options import AnswerOptions, ReadingOptions, attackers, gather_two, named_hierarchies
from unveil.errors import ArgumentError

if TYPE_CHECKING:
    from unveil.results import Result
    from unveil.study import Pair


@dataclass(frozen=True, slots=True)
class _AttackedOptions:
    """The original and the release that an intruder sees, and the meaning of their columns."""

    original: Annotated[str, typer.Argument(help="The original table.", show_default=False)]
    release: Annotated[str, typer.Argument(help="The release that an intruder sees.", show_default=False)]
    key: Key = None
    sensitive: Annotated[
        list[str] | None,
        typer.Option("--sensitive", metavar="COLUMN", help="A sensitive column of the release; repeat it for more."),
    ] = None
    match: MatchOptions = field(default_factory=MatchOptions)
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", metavar="COLUMN=FILE", help="What a released value covers.")
    ] = None
    nulls: NullPolicy = None
    person: Person = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def pair(self) -> Pair:
        """Open both tables as a pair."""
        from unveil.study import Pair

        one, other = gather_two(self.original, self.release, self.reading)
        if self.person is not None:
            one, other = one.changed(person=self.person), other.with_person(self.person)
        matched = self.match.arguments(one.names)
        covered = named_hierarchies(self.hierarchy, one.names)
        return Pair(one, other, self.key or None, self.sensitive or None, hierarchies=covered, nulls=self.nulls, **matched)

    def with_earlier(self, earlier: str) -> Result:
        """Attack the release together with an earlier one about the same people."""
        from unveil.stream import intersect_releases

        one, other = gather_two(self.original, self.release, self.reading)
        keys, sensitive = tuple(self.key or one.key), tuple(self.sensitive or one.sensitive)
        if not keys or len(sensitive) != 1:
            raise ArgumentError("two releases are attacked together with --key columns and one --sensitive column; name them.")
        return intersect_releases(
            one, self.reading.source(earlier, "earlier release", one.project), other.source, keys, sensitive[0],
            mapping=self.match.pairs(one.names), hierarchies=named_hierarchies(self.hierarchy, one.names),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _KnowledgeOptions:
    """The intruder's knowledge besides the release, and the settings of the attacks."""

    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="NAME:COLUMN=FILE", help="An attacker's model: a semantic partition of a column."),
    ] = None
    external: Annotated[
        str | None, typer.Option("--external", metavar="DATA", help="Other data with common columns (grey box).")
    ] = None
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="DATA",
            help="A hold-out: people like those of the original, but not used; for synthetic data and linkage by chance.",
        ),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="How the release was made, if it is known: rank_swap, add_noise, pram, microaggregate, generalize.",
            autocompletion=offering("rank_swap", "add_noise", "pram", "microaggregate", "generalize"),
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="A setting of the --method, such as window=5.",
            autocompletion=beginning(
                "alpha=A", "amount=A", "k=K", "l=L", "matrix=FILE", "method=NAME", "retention=P", "together=true", "window=W"
            ),
        ),
    ] = None
    earlier: Annotated[
        str | None,
        typer.Option("--earlier", metavar="DATA", help="An earlier release about the same people: what both give away together."),
    ] = None
    linkage: Annotated[bool, typer.Option("--linkage/--no-linkage", help="Whether to link records.")] = True
    missing_is_sensitive: Annotated[
        bool | None,
        typer.Option(
            "--missing-is-sensitive/--missing-is-no-secret",
            help="Whether a missing sensitive value is itself sensitive (default: as the project says).",
            show_default=False,
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn at random.")] = 0

    def minimal(self, pair: Pair) -> Result:
        """Attack a generalisation, knowing that no lower one would have met the requirements."""
        from unveil.attacks import minimality

        if self.partition or self.external or self.control:
            raise ArgumentError("--method generalize takes no --partition, --external or --control; leave them out.")
        settings = settings_of(self.settings)
        if strange := [name for name in settings if name not in ("k", "l", "alpha")]:
            raise ArgumentError.not_one_of("what is known about generalize", strange[0], ("k", "l", "alpha"))
        return minimality(pair, **settings, seed=self.seed)

    def arguments(self, pair: Pair, reading: ReadingOptions) -> dict[str, Any]:
        """Return the arguments of the call."""
        from unveil.attacks import planned_attackers

        if self.settings and self.method is None:
            raise ArgumentError("--set goes with a --method; name one.")
        project = pair.original.project
        return {
            "partitions": planned_attackers(pair) | attackers(self.partition, [*pair.release.names, *pair.original.names]),
            "external": reading.source_if_named(self.external, "external data", project),
            "control": reading.source_if_named(self.control, "control", project),
            "method": None if self.method is None else {"mechanism": self.method, **settings_of(self.settings)},
            "missing_is_sensitive": self.missing_is_sensitive,
            "link_records": self.linkage,
            "seed": self.seed,
        }


@app.command(epilog="Example: unveil attack thesis-4.2 thesis-4.3 --map 'ZIP=ZIP*' --map 'Age=Age*' --sensitive 'location 1'")
@grouped
def attack(attacked: _AttackedOptions, knowledge: _KnowledgeOptions, answer: AnswerOptions) -> None:
    """How much does an intruder gain? Identity, homogeneity, background knowledge, skewness, similarity and linkage.

    For a synthetic release (no correspondence of records) and a hold-out: singling out, linkability, inference, membership.
    """
    from unveil.attacks.attack import attack as attack_release

    with showing_progress():
        if knowledge.earlier is not None:
            outcome = attacked.with_earlier(knowledge.earlier)
        elif knowledge.method == "generalize":
            outcome = knowledge.minimal(attacked.pair())
        else:
            pair = attacked.pair()
            outcome = attack_release(pair, **knowledge.arguments(pair, attacked.reading))
    answer.give(outcome)
