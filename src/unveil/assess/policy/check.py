"""May this release be published? The gate: a release checked against a policy, or against an earlier result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from unveil import __version__
from unveil.arguments import checked_arguments, checked_number, checked_seed
from unveil.assess.evidence import Evidence, has_password, verdict_files
from unveil.assess.policy.case import Case, Original, changes, profile_of
from unveil.assess.policy.drift import Baseline, drifts, lost, read_baseline
from unveil.assess.policy.pages import append_history
from unveil.assess.policy.rules import Outcome, outcomes
from unveil.assess.policy.verdict import Verdict
from unveil.assess.policy.waivers import Waiver, waiver_of
from unveil.attributes import Names, require_columns, sides_of
from unveil.errors import ArgumentError, ColumnNotFoundError, DataNotFoundError, listed, near_miss, shown
from unveil.formats import counted, numbered
from unveil.measures import column_exposures, never_measured
from unveil.partitions import Hierarchy
from unveil.project import KEYLESS, PRESETS, SECTIONS, Policy, Project, Rule, RuleSet
from unveil.randomness import NOT_FOR_PUBLICATION
from unveil.releases import Record, RecordMismatchError, read_record, record_place
from unveil.results import Provenance
from unveil.run import Progress, in_run
from unveil.sources import Data, is_project, open_source
from unveil.study import Study, require_values, studied

__all__ = ["AnyPolicy", "check", "policy_of"]

AnyPolicy: TypeAlias = Policy | Project | Mapping[str, Any] | str | os.PathLike[str]
"""A policy, a project that has one, rules by name, the name of a preset, or the file of a policy or project."""

_MOST_CULPRITS = 4
_MOST_TOLD = 3


@checked_arguments
@in_run
def check(  # noqa: PLR0913 - the gate takes everything that its rules need
    release: Data,
    policy: AnyPolicy | None = None,
    *,
    key: Names | None = None,
    sensitive: Names | None = None,
    person: str | None = None,
    keep: Names | None = None,
    project: Project | str | os.PathLike[str] | None = None,
    original: Data | None = None,
    mapping: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    id: str | None = None,  # noqa: A002 - the word of the command line
    link: Data | None = None,
    same_order: bool = False,
    control: Data | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: str | None = None,
    baseline: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    allow: float = 0.0,
    history: str | os.PathLike[str] | None = None,
    record: str | os.PathLike[str] | None = None,
    waivers: Sequence[Waiver | Mapping[str, Any]] = (),
    key_file: str | os.PathLike[str] | None = None,
    seed: int = 0,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Verdict:
    """Check a release against a policy, and report the shortfalls.

    Parameters
    ----------
    release
        A path, the name of a built-in data set, any data frame narwhals knows, a table in an engine, counts, or a `Study`.
        Never changed.
    policy
        Rules by name, the name of a preset, a file (of a policy, or of a project with one), a `Policy` or a `Project`; none:
        that of the project, if there is one.
    key, sensitive
        Key attributes and sensitive attributes; none: those of the project that the release still holds, or, as key, every
        column that is not sensitive.
    person, keep
        The column that identifies the person of a record, in the release or in its original, so that persons are counted; and
        the columns that the user vouches for, which may then name people. Whatever the policy states, other columns recognised
        as direct identifiers keep the release from passing.
    project
        A project, or its file, whose roles and nulls are the defaults; none: the one from which the policy comes, or that was
        given as the release.
    original, mapping, id, link, same_order
        The original, for rules about attacks, and the correspondence of columns and records, as in `unveil.attack`.
    control
        Records of similar people that were not used for the release, for rules about synthetic data.
    hierarchies, orders
        The relations between the values of sensitive attributes, for t-closeness.
    nulls
        "category" (the default), "drop", "error" or "wildcard".
    baseline, allow
        An earlier result (of `check` or `measure`, as JSON), and the amount by which a risk may have grown since.
    history
        A file to which this check is appended, as one line of JSON; the verdict then shows the development of the figures.
    record
        The record of the release; none: the file beside it that has its name and the ending ``.unveil.json``.
    waivers
        Named exceptions: the person who answers for a rule that is not met, the reason, and the first and last day. A rule
        covered by a waiver in force does not keep a release from passing.
    key_file
        A file with a secret key (at least 16 bytes): the verdict then holds the HMAC of every file behind it; none: the plain
        SHA-256 of all but the original.
    seed
        The seed of the random draws of attacks.
    progress
        A run, or a function called with the name of a stage (the rules; attacks, if a rule needs them), the number of completed
        steps, and the total number of steps.

    Returns
    -------
    Verdict
        Whether the release `passes`, and every rule with its figure, its threshold and, if it was not decided, the reason.

    Examples
    --------
    >>> import unveil
    >>> rules = {"k_anonymity": 5, "distinct_l_diversity": 3}
    >>> verdict = unveil.check("paper-3", rules, key=["ZIP*", "Age*"], sensitive="Disease")
    >>> verdict
    Verdict(policy: NOT met (k_anonymity))
    >>> [(outcome.rule.name, outcome.value, outcome.met) for outcome in verdict.outcomes]
    [('k_anonymity', 3, False), ('distinct_l_diversity', 3, True), ('direct_identifiers', 0, True)]
    """
    plan, own = _projects(project, release)
    if policy is None and baseline is None:
        policy = _with_policy(plan, own)
    _check_options(policy, baseline, allow, original, control, seed)
    required, home = (Policy(), None) if policy is None else policy_of(policy)
    earlier = None if baseline is None else read_baseline(baseline)
    named = required.in_force()
    stated = named if earlier is None or policy is not None else earlier.rules
    said: dict[str, Any] = {"key": key, "sensitive": sensitive, "keep": keep, "nulls": nulls}
    said |= {"hierarchies": hierarchies, "orders": orders, "project": plan or (None if own else home)}
    with studied(release, partial=True, wildcards=True, **said) as opened:
        require_values(opened, opened.names)
        on_trial, rules, assumed = _on_trial(opened, person, original, stated)
        pairing = {"id": id, "link": link, "same_order": same_order, "mapping": mapping, "key": None if assumed else on_trial.key}
        paired = None if original is None else Original(original, pairing, seed, person, control)
        beside, found = _record(release, record)
        places = {"release": opened.place, "record": beside, **_before(original, baseline)}
        evidence = Evidence(verdict_files(places, opened.project, None if policy is None else required, named, key_file))
        gate = _Gate(required, frozenset(rule.name for rule in named), earlier, allow, assumed=assumed)
        verdict = replace(_verdict(Case(on_trial, rules, paired, found), gate, evidence), waivers=tuple(map(waiver_of, waivers)))
        return verdict if history is None else replace(verdict, history=append_history(history, verdict))


def _projects(project: Project | str | os.PathLike[str] | None, release: Data) -> tuple[Project | None, Project | None]:
    """Return the project that a call names, and the project that was given as the release, or that of a given study."""
    named = Project.read(project) if isinstance(project, str | os.PathLike) else project
    if isinstance(release, Study):
        return named, release.project
    own = Project.read(release) if isinstance(release, str | os.PathLike) and is_project(release) else release
    return named, own if isinstance(own, Project) else None


def _with_policy(*projects: Project | None) -> Project | None:
    """Return the first project that has a policy."""
    return next((one for one in projects if one is not None and one.policy), None)


def _before(original: Data | None, baseline: Any) -> dict[str, Any]:
    """Return the places of the original and the earlier result, by role; None for a result that is not in a file."""
    return {
        "original": None if original is None else open_source(original).place,
        "earlier result": baseline if isinstance(baseline, str | os.PathLike) else None,
    }


def _check_options(policy: object, baseline: object, allow: float, original: object, control: Data | None, seed: int) -> None:
    checked_seed(seed)
    if policy is None and baseline is None:
        raise ArgumentError(f"no policy is named; name a preset ({listed(PRESETS)}) or the file of a policy.")
    checked_number("allow", allow, least=0.0)
    if control is not None and original is None:
        raise ArgumentError("a hold-out needs the original beside it, and none is given; name both.")
    if control is not None:
        open_source(control)  # an unreadable hold-out is refused, instead of leaving a rule undecided


def _on_trial(study: Study, person: str | None, original: Data | None, stated: Sequence[Rule]) -> tuple[Study, RuleSet, bool]:
    """Return the study of the release under judgement, its rules, and whether its key had to be assumed.

    The study has the key and the sensitive attributes that rules name, and the column of persons; a release without that column
    needs its original.
    """
    if person is not None and person not in study.names and original is None:
        raise ColumnNotFoundError(
            f"the release does not say whose record it is: {ColumnNotFoundError.among(person, study.names)} Hint: also give "
            "the original and the correspondence of records: the original says who the persons are."
        )
    study = study if person is None else study.with_person(person)
    rules = RuleSet.of(stated, study.sensitive, study.keep)
    require_columns([*study.key, *rules.sensitive, *rules.named, *rules.excepted], study.names)
    taken = {*rules.sensitive, study.person, study.household}
    keys, hidden = sides_of(study.key or [name for name in study.names if name not in taken], rules.sensitive or None)
    return study.changed(key=keys, sensitive=hidden), rules, not study.key


@dataclass(frozen=True, slots=True)
class _Gate:
    """The standard for a release: a policy with the names of its rules, an earlier result, or both."""

    policy: Policy
    named: frozenset[str]
    earlier: Baseline | None
    allow: float
    assumed: bool


def _verdict(case: Case, gate: _Gate, evidence: Evidence) -> Verdict:
    """Judge a case by the gate."""
    keyed, earlier, study = case.rules.keyed, gate.earlier, case.study
    if earlier is not None and keyed:
        earlier.check_key(study.key, study.nulls)
    table = case.counted.table
    judged, others = outcomes(case)
    required = tuple(one for one in judged if one.rule.name != "direct_identifiers" or one.rule.name in gate.named)
    vouched = tuple(name for name in case.rules.excepted if name in study.names)
    dropped = 0 if table is None else table.dropped
    records = case.identifiers.records if table is None else table.records
    profile = profile_of(case, records + max(dropped - study.source.dropped, 0))  # counts have no column of what they left out
    provenance = Provenance(
        records=records,
        nulls=study.nulls,
        dropped=dropped,
        key=study.key if keyed else (),
        sensitive=study.sensitive if keyed else (),
        seed=None if case.original is None else case.original.seed,
        version=__version__,
        date=evidence.date.partition("T")[0],
    )
    return Verdict(
        study.place,
        gate.policy.name,
        tuple(PRESETS[name] for name in gate.policy.presets),
        tuple(one for one in judged if gate.named or one.rule.name == "direct_identifiers"),
        () if earlier is None else drifts(earlier, (*required, *others), gate.allow),
        tuple(_notes(case, gate, judged, required)),
        provenance,
        evidence,
        vouched=vouched,
        unmeasured=case.unmeasured,
        figures=others,
        profile=profile,
        changes=() if earlier is None or earlier.profile is None else changes(earlier.profile, profile),
    )


def _record(release: Data, named: str | os.PathLike[str] | None) -> tuple[str | os.PathLike[str] | None, Record | str]:
    """Return the file of a release's record with the record, or the reason why there is none; a named one must exist."""
    place = getattr(release, "place", release)
    if not isinstance(place, str | os.PathLike) or not Path(place).is_file():
        if named is not None:
            raise ArgumentError("a record is named, but the release is not a file that it could belong to.")
        return None, "the release is not a file, so it has no record of how it was made"
    beside = record_place(place) if named is None else named
    try:
        return beside, read_record(beside, place)
    except DataNotFoundError:
        if named is not None:
            raise
        return None, f"there is no record of how it was made ({shown(Path(beside).name)}); name it, or make the release again"
    except RecordMismatchError as problem:
        return None, str(problem)


def policy_of(policy: AnyPolicy) -> tuple[Policy, Project | None]:
    """Return the intended policy, and the project from which it comes, if it comes from one."""
    if isinstance(policy, Policy):
        return _with_rules(policy, "the policy"), None
    if isinstance(policy, Project):
        return _of_project(policy), policy
    if isinstance(policy, Mapping):
        return _with_rules(Policy.of(policy), "the policy"), None
    if isinstance(policy, str) and policy in PRESETS:
        return Policy.preset(policy), None
    place = Path(policy)
    if not os.path.exists(place):  # noqa: PTH110 - for a name that no file can have, Path raises an error
        hint = near_miss(str(policy), PRESETS)
        raise ArgumentError(f"{shown(policy)} is neither a file nor a preset; presets are: {listed(PRESETS)}.{hint}")
    if _is_project(place):
        project = Project.read(place)
        return _of_project(project), project
    return _with_rules(Policy.read(place), str(place)), None


def _is_project(place: Path) -> bool:
    """Whether a file is a project: it has a section of projects, whose names no rule has."""
    import tomllib

    try:
        return bool(set(tomllib.loads(place.read_text("utf-8-sig"))) & set(SECTIONS))
    except (OSError, ValueError):
        return False  # the reader of policies reports what is wrong


def _of_project(project: Project) -> Policy:
    """Return the policy of a project, with its file, unless the file holds a password."""
    policy = _with_rules(project.policy, str(project.path))
    return policy if has_password(project) else replace(policy, path=project.path)


def _with_rules(policy: Policy, place: str) -> Policy:
    if not policy:
        raise ArgumentError(f"{place}: there is no rule; add one, such as k_anonymity = 5, or a preset.")
    return policy


def _notes(case: Case, gate: _Gate, judged: Sequence[Outcome], required: tuple[Outcome, ...]) -> Iterator[str]:
    """Yield further remarks: on the key, on columns that no rule is about, and on how the release was made."""
    if case.rules.keyed and not all(one.met for one in judged if one.rule.name not in KEYLESS):
        yield _culprits(case)
    if case.rules.keyed:
        yield from _notes_on_key(case, assumed=gate.assumed)
    if vouched := [name for name in case.rules.excepted if name in case.study.names]:
        yield f"Columns that are vouched for by name and were not examined: {listed(vouched)}."
    record = case.record if isinstance(case.record, Record) else None
    if record is not None and record.vouched:
        yield f"The maker of the release vouched for: {listed(record.vouched)}."
    if case.unmeasured:
        yield never_measured(case.unmeasured, _MOST_TOLD)
    if record is not None and record.repeatable == "seed":
        yield NOT_FOR_PUBLICATION
    if gate.earlier is not None and (missing := lost(gate.earlier, required)):
        yield missing


def _notes_on_key(case: Case, *, assumed: bool) -> list[str]:
    notes = []
    if assumed:
        notes.append("No key is named: every column that is not sensitive is assumed to be known to an intruder.")
    if case.unit == "records" and case.study.project is not None and (who := case.study.project.names("person")):
        notes.append(
            f"The release does not have {listed(who)}, which says whose record it is, so records are counted, and a class of "
            "several records may belong to one person. Its record says which k in persons it was made for."
        )
    if case.classes.suppressed:
        notes.append(f"{counted(case.classes.suppressed, 'record')} suppressed in every key attribute: counted separately.")
    if case.counted.table is not None and case.counted.table.dropped:
        notes.append(f"{counted(case.counted.table.dropped, 'record')} with a null in a named column left out (nulls='drop').")
    return notes


def _culprits(case: Case) -> str:
    """Return a sentence on the key attributes that single out most by themselves."""
    table, alone = case.counted.table, case.counted.columns
    rates = {} if table is None else {name: one.rate for name, one in column_exposures(table, case.keys, alone).items()}
    worst = sorted(rates, key=lambda name: -rates[name])[:_MOST_CULPRITS]
    named = numbered({shown(name)[1:-1]: rates[name] for name in worst})
    return f"Columns that single people out most on their own: {named}."
