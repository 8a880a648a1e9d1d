"""What should be done next? Steps in plain words, each with its reason and its command; the reader chooses thresholds."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unveil.errors import listed
from unveil.formats import noun, number, people

if TYPE_CHECKING:
    from unveil.assess.assessment import Assessment
    from unveil.assess.rates import Disclosure

__all__ = ["Advice", "Command", "advice_on"]

_MOST_NAMED = 3
_MOST_KEYS = 20
"""More key attributes than this nobody would type: they belong in a project file, which unveil init writes."""
_FRAME = "the data frame"
_NO_SHELL = ("the count table", "the DuckDB relation", "the Spark data frame")
"""Places of data that no command can name; a data frame can be written to a file first, so its place is left to the user."""
_ASSUMING = frozenset({"assess", "check"})
"""Verbs that treat every column as a key attribute if none is named."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command, for a shell and as a Python call; the former is empty if no shell can name the data."""

    shell: str
    python: str


_OWNERS = {"person": ("assess", "measure", "check", "anonymize"), "household": ("assess", "measure", "anonymize")}
"""The verbs that accept the columns of persons and of households."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One step: the action, its reason, and the command that performs it or shows more; the user replaces words in capitals."""

    what: str
    why: str
    command: Command

    @property
    def run(self) -> str:
        """The command, for a shell; empty if no shell can name the data."""
        return self.command.shell

    @property
    def python(self) -> str:
        """The equivalent Python call."""
        return self.command.python

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"what": self.what, "why": self.why, "run": self.run, "python": self.python}

    @property
    def text(self) -> str:
        """The whole step in one line."""
        return f"{self.what} {self.why} " + (f"In Python: `{self.python}`" if not self.run else f"Run: `{self.run}`")


def advice_on(assessment: Assessment) -> tuple[Advice, ...]:
    """Return the steps that follow from an assessment, the most urgent first."""
    steps = [
        *_on_identifiers(assessment),
        *_on_roles(assessment),
        *_on_identity(assessment),
        *_on_sensitive_attributes(assessment),
        *_on_the_gate(assessment),
    ]
    return tuple(steps)


def _command(assessment: Assessment, verb: str, *words: str, call: str, roles: bool = True) -> Command:
    """Return a command on the same data with the same roles, without those that the verb assumes by default.

    The Python call has placeholders for the data and the roles: ``unveil.scan({data}{key})``.
    """
    place = "DATA" if assessment.place == _FRAME else assessment.place
    project = [one.place for one in assessment.files if one.role == "project"]
    named = not (assessment.assumed and verb in _ASSUMING)
    if not project and named and roles and len(assessment.made.key) > _MOST_KEYS:
        project = ["PROJECT"]
    if project:
        line = call.format(data=repr(project[0]), key="", sides="", names=repr(list(assessment.made.key)))
        return Command(shlex.join(["unveil", verb, "--project", *project, *words]), line)
    sides = [word for name in assessment.made.key for word in ("--key", name)] if named else []
    if "--identity" not in words:
        sides += [word for name in assessment.made.sensitive for word in ("--sensitive", name)]
    owners = {
        name: getattr(assessment.made, name)
        for name, verbs in _OWNERS.items()
        if verb in verbs and getattr(assessment.made, name)
    }
    sides += [word for name, column in owners.items() for word in (f"--{name}", column)]
    key = f", key={list(assessment.made.key)!r}" if named and roles else ""
    sensitive = f", sensitive={list(assessment.made.sensitive)!r}" if assessment.made.sensitive and roles else ""
    data = "data" if assessment.place in (_FRAME, *_NO_SHELL) else repr(assessment.place)
    if owners and roles:
        data = f"unveil.Study({data}, {', '.join(f'{name}={column!r}' for name, column in owners.items())})"
    python = call.format(data=data, key=key, sides=key + sensitive, names=repr(list(assessment.made.key)))
    shell = shlex.join(["unveil", verb, place, *(sides if roles else []), *words])
    return Command("" if place in _NO_SHELL else shell, python)


def _on_identifiers(assessment: Assessment) -> Iterator[Advice]:
    sure = dict.fromkeys(one.column for one in assessment.identifiers.findings if one.confidence != "possible")
    doubtful = dict.fromkeys(one.column for one in assessment.identifiers.findings if one.column not in sure)
    run = _command(assessment, "identifiers", call="unveil.direct_identifiers({data})", roles=False)
    if sure:
        yield Advice(
            f"Remove or replace {listed(sure)}.",
            "The values of these columns name people outright, whatever is done to the other columns.",
            run,
        )
    if doubtful:
        yield Advice(f"Look at {listed(doubtful)}.", "They may name people; only a person can tell.", run)


def _on_roles(assessment: Assessment) -> Iterator[Advice]:
    if assessment.assumed:
        yield Advice(
            "Say what each column is.",
            "No key was named: every column that is neither a direct identifier nor sensitive was assumed to be known to an "
            "intruder.",
            _command(assessment, "init", call="unveil.start_project({data})", roles=False),
        )
    if not assessment.made.sensitive:
        yield Advice(
            "Name the sensitive attributes.",
            "No sensitive attribute was named, so only identities were measured, not what an intruder would learn.",
            _command(assessment, "assess", "--sensitive", "COLUMN", call='unveil.assess({data}{key}, sensitive="COLUMN")'),
        )


def _on_identity(assessment: Assessment) -> Iterator[Advice]:
    minimal = assessment.combinations.minimal_identifiers
    if minimal:
        some = "; ".join(" + ".join(key) for key in minimal[:_MOST_NAMED])
        more = f"; and {len(minimal) - _MOST_NAMED:,} more" if len(minimal) > _MOST_NAMED else ""
        yield Advice(
            "Do not release these together unchanged.",
            f"Each of these sets of attributes distinguishes every record from every other: {some}{more}.",
            _command(assessment, "scan", "--identity", call="unveil.scan({data}{key})"),
        )
    uniques = assessment.measurement.uniqueness["sample"]["uniques"]
    if not uniques:
        return
    unit, has = assessment.measurement.unit, "has" if uniques == 1 else "have"
    best = min(assessment.without, key=lambda one: one.uniques, default=None)
    helps = ""
    if best is not None and best.uniques < uniques:
        helps = f" Most of that is due to {best.name}: without it, {people(best.uniques, unit)} would be unique."
    yield Advice(
        "Make the key attributes coarser, or suppress records, until nobody is unique.",
        f"{uniques:,} of {people(assessment.measurement.number, unit)} {has} a key that no other {noun(unit, one=True)} "
        f"has.{helps}",
        _command(
            assessment,
            "anonymize",
            "--k",
            "K",
            "--out",
            "RELEASE",
            call="unveil.anonymize({data}, {names}, [unveil.models.KAnonymity(K)])",
        ),
    )


def _on_sensitive_attributes(assessment: Assessment) -> Iterator[Advice]:
    for one in assessment.disclosures:
        yield from _on_sensitive_attribute(assessment, one)
    read = {one.sensitive for one in assessment.disclosures if one.partition is not None}
    plain = [name for name in assessment.made.sensitive if name not in read]
    if plain:
        yield Advice(
            f"Say which values of {listed(plain)} mean the same to an intruder.",
            "Learning only the group of a value may be enough for an intruder; a semantic partition measures that.",
            _command(
                assessment,
                "assess",
                "--partition",
                f"NAME:{plain[0]}=FILE",
                call=f'unveil.assess({{data}}{{sides}}, partitions={{{{"NAME": {{{{{_literal(plain[0])}: BLOCKS}}}}}}}})',
            ),
        )


def _on_sensitive_attribute(assessment: Assessment, one: Disclosure) -> Iterator[Advice]:
    if one.dr is None:
        return
    if one.kind == "zero-identifier" or (one.adjusted is not None and one.adjusted <= 0.0):
        yield Advice(
            f"Nothing to do for {one.title} beyond what protects identities.",
            "The key says no more about it than a random key with the same classes would.",
            _command(assessment, "measure", call="unveil.measure({data}{sides})"),
        )
        return
    if one.partition is not None:
        return
    same = assessment.measurement.models.get(("distinct_l_diversity", one.sensitive))
    if same is None or same.value is None or same.value > 1:
        return
    guess = assessment.measurement.vulnerability[one.sensitive]
    yield Advice(
        f"Make sure that records with the same key differ in {one.sensitive}.",
        "In some classes all records hold the same value, so whoever knows the key knows the sensitive value; an intruder's "
        f"best guess is right for {number(guess['posterior'])} of the records with the key, for {number(guess['prior'])} without "
        "it.",
        _command(
            assessment,
            "anonymize",
            "--l",
            f"distinct:L:{one.sensitive}",
            "--out",
            "RELEASE",
            call=f"unveil.anonymize({{data}}, {{names}}, [unveil.models.DistinctLDiversity({_literal(one.sensitive)}, L)])",
        ),
    )


def _on_the_gate(assessment: Assessment) -> Iterator[Advice]:
    yield Advice(
        "Check the release against the rules that bind you.",
        "The data cannot say whether these figures are low enough: a policy, or a preset with its source, does.",
        _command(assessment, "check", "--policy", "POLICY", call='unveil.check({data}, "POLICY"{sides})'),
    )


def _literal(name: str) -> str:
    """Return a name as a Python literal, with braces doubled for the pattern of a call."""
    return repr(name).replace("{", "{{").replace("}", "}}")
