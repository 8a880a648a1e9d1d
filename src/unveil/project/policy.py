"""Policies: the rules that a release must meet, with their thresholds, alone or on top of a preset.

It is in a file of its own, or in the section `policy` of the project file; both are written alike. A rule is a number (its
threshold), the word "report" (the figure is wanted, its threshold not decided yet), a table with parameters, or a list of tables.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, PartitionError, shown
from unveil.partitions import Partition
from unveil.partitions.files import PathLike
from unveil.project._table import TomlTable, read_table
from unveil.project.toml_text import written

__all__ = ["DISTANCE_WORDS", "RULES", "Form", "Policy", "Rule", "read_policy", "write_policy"]

Side: TypeAlias = Literal["at_least", "at_most"]

_UNDECIDED = "report"
DISTANCE_WORDS = ("equal", "rank", "value", "hierarchical", "variational", "kl", "js")
"""How far values are apart, in the words of t-closeness; the models are a room below and have the same."""
_CONFIDENCES = ("certain", "likely", "possible")
_ITEMS = tuple("ABCDEFGHIJKLMNOPQR")
_LENIENCE = ("except", "confidence", "missing_is_sensitive")


@dataclass(frozen=True, slots=True)
class Form:
    """What a rule may say.

    Attributes
    ----------
    side
        Whether its figure must reach the threshold, or must not exceed it.
    low, high, whole
        The range of the threshold, and whether it is a whole number.
    parameters
        What else it takes, with the value that holds when it is not given (None: there is none).
    flag
        Whether it is not a figure but a fact that must be false.
    about
        What the figure is, in words.
    """

    side: Side = "at_most"
    low: float = 0.0
    high: float = 1.0
    whole: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    flag: bool = False
    about: str = ""


_SECRET = {"attribute": None}

RULES: dict[str, Form] = {
    "k_anonymity": Form("at_least", 1, math.inf, whole=True, about="records in the smallest class"),
    "prosecutor_highest": Form(about="re-identification risk of the record most at risk"),
    "prosecutor_average": Form(about="average re-identification risk of the records"),
    "records_at_risk": Form(parameters={"above": 0.2}, about="share of records with a risk above a limit"),
    "sample_uniqueness": Form(about="share of records that are unique by the key"),
    "p_sensitivity": Form(
        "at_least", 1, math.inf, whole=True, parameters=_SECRET, about="least number of sensitive values in a class"
    ),
    "distinct_l_diversity": Form(
        "at_least", 1, math.inf, whole=True, parameters=_SECRET, about="least number of distinct sensitive values in a class"
    ),
    "entropy_l_diversity": Form(
        "at_least",
        1,
        math.inf,
        parameters=_SECRET,
        about="2 to the power of the lowest entropy of the sensitive values in a class",
    ),
    "recursive_l_diversity": Form(
        "at_most",
        0,
        math.inf,
        parameters={**_SECRET, "l": 2},
        about="the c of recursive (c, l)-diversity; it must stay below",
    ),
    "t_closeness": Form(
        "at_most",
        0,
        math.inf,
        parameters={**_SECRET, "distance": "equal"},
        about="largest distance of a class from the whole table",
    ),
    "alpha": Form(parameters=_SECRET, about="largest share of a sensitive value in a class"),
    "basic_beta_likeness": Form(
        "at_most", 0, math.inf, parameters=_SECRET, about="largest relative gain of a sensitive value in a class"
    ),
    "enhanced_beta_likeness": Form(
        "at_most", 0, math.inf, parameters=_SECRET, about="the same, with frequent values protected as well"
    ),
    "delta_disclosure": Form(
        "at_most",
        0,
        math.inf,
        parameters=_SECRET,
        about="largest ratio of a value's shares in a class and in the table, as a logarithm; it must stay below",
    ),
    "certain_disclosure": Form(
        parameters={**_SECRET, "missing_is_sensitive": None},
        about="share of records whose class holds one sensitive value; those without one count if that is sensitive",
    ),
    "discrimination_rate": Form(
        parameters={"key": None, "sensitive": None, "adjusted": False, "partitions": None},
        about="Discrimination Rate against record identity, or against `sensitive` (a column, or `true` for each)",
    ),
    "identity_attack": Form(about="risk of the identity attack"),
    "homogeneity_attack": Form(about="risk of the homogeneity attack"),
    "linkage": Form(about="highest share of records that a linkage gets right"),
    "singling_out": Form(about="people singled out by a release beyond those of a hold-out"),
    "linkability": Form(about="people whose two halves a release links, beyond those of a hold-out"),
    "inference": Form(about="sensitive values that a release tells, beyond those of a hold-out"),
    "membership": Form(about="people found out to be in the original, beyond false alarms about a hold-out"),
    "direct_identifiers": Form(
        "at_most",
        0,
        math.inf,
        whole=True,
        parameters={"except": (), "confidence": "likely"},
        about="columns that name people outright",
    ),
    "safe_harbor": Form(
        "at_most",
        0,
        math.inf,
        whole=True,
        parameters={"item": None, "except": ()},
        about="columns with an identifier of the US Safe Harbor rule; `item` is a letter from A to R",
    ),
    "repeatable": Form(
        "at_most",
        0,
        0,
        whole=True,
        flag=True,
        about="whether everybody who has the software can repeat the draws of the release, as its record says",
    ),
    "exposed_cells": Form(
        "at_most",
        0,
        math.inf,
        whole=True,
        parameters={
            "by": None,
            "value": None,
            "rule": (),
            "holding": None,
            "request": None,
            "linked": (),
            "signed": False,
            "on": None,
            "attacker": None,
            "zeros": "publish",
            "insiders": "singletons",
            "level": "rule",
            "width": None,
            "total": "Total",
        },
        about="cells of a published table that an attacker can compute too closely; `rule` needs the original",
    ),
}
"""Every rule by its name; figures are as `unveil.measure`, `unveil.attack` and `unveil.direct_identifiers` give them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A figure, and the threshold that it is checked against.

    Parameters
    ----------
    name
        One of `RULES`.
    threshold
        None: not decided.
    parameters
        What the figure is of, where it is not of the whole table.
    question
        The question of a preset's source that the figure bears on.

    Examples
    --------
    >>> Rule("t_closeness", 0.2, {"attribute": "income"}).requirement
    'at most 0.2'
    """

    name: str
    threshold: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""

    @property
    def form(self) -> Form:
        """What a rule of this name may say."""
        return RULES[self.name]

    @property
    def requirement(self) -> str:
        """The threshold in words."""
        if self.threshold is None:
            return "none set"
        return "must be false" if self.form.flag else f"{self.form.side.replace('_', ' ')} {self.threshold:g}"

    @property
    def settings(self) -> dict[str, Any]:
        """All parameters; those that are not given have the value that holds then."""
        return {**self.form.parameters, **self.parameters}

    @property
    def place(self) -> tuple[str, str]:
        """What tells this rule from others: its name, and what its figure is of (columns excepted make no other figure)."""
        said = {name: value for name, value in self.settings.items() if value is not None and name not in _LENIENCE}
        return self.name, json.dumps(said, sort_keys=True, default=str)


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules that a release must meet.

    Parameters
    ----------
    name
        What the policy is called: its file, or its preset.
    presets
        The presets it builds on; a rule of its own replaces theirs of the same name and parameters.
    rules
        Its own rules.
    path
        The file that it was read from.

    Examples
    --------
    >>> [(rule.name, rule.threshold) for rule in Policy.of({"preset": "cell-size-5", "sample_uniqueness": 0}).in_force()]
    [('k_anonymity', 5), ('sample_uniqueness', 0.0)]
    """

    name: str = "policy"
    presets: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    path: Path | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        """Whether there is any rule."""
        return bool(self.presets or self.rules)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """What the rules in force say: the name, the threshold and the parameters of each."""
        return [{"rule": one.name, "threshold": one.threshold, "parameters": dict(one.parameters)} for one in self.in_force()]

    def in_force(self) -> tuple[Rule, ...]:
        """Return the rules of the presets and its own, each once."""
        from unveil.project.presets import PRESETS

        rules = {rule.place: rule for name in self.presets for rule in PRESETS[name].rules}
        for rule in self.rules:
            rules[rule.place] = replace(rule, question=rules[rule.place].question) if rule.place in rules else rule
        return tuple(rules.values())

    @classmethod
    @checked_arguments
    def of(cls, rules: Mapping[str, Any], name: str = "policy") -> Policy:
        """Return the policy that a mapping describes, written as in a file."""
        return read_policy(TomlTable(Path(name), {}, (), _as_toml(rules)), name)

    @classmethod
    @checked_arguments
    def preset(cls, name: str) -> Policy:
        """Return the policy that is a preset and nothing else."""
        from unveil.project.presets import PRESETS

        if name not in PRESETS:
            raise ArgumentError.not_one_of("preset", name, tuple(PRESETS))
        return cls(name, (name,))

    @classmethod
    @checked_arguments
    def read(cls, path: PathLike) -> Policy:
        """Read and check a policy file.

        Raises
        ------
        DataNotFoundError
            If the file is not there.
        ProjectError
            If it is not TOML, or a rule is unknown or says what it must not; with line and key.
        """
        root = read_table(path)
        return replace(read_policy(root, root.file.stem), path=root.file)


def read_policy(table: TomlTable, name: str = "policy") -> Policy:
    """Read the rules of a table of a file."""
    table.only(("preset", *RULES), "rule")
    rules = [rule for field_name in table.fields if field_name != "preset" for rule in _read_rules(table, field_name)]
    places = [rule.place for rule in rules]
    for at, place in enumerate(places):
        if place in places[:at]:
            raise table.wrong("two rules are about the same figure; keep the stricter.", place[0])
    return Policy(name, _read_presets(table), tuple(rules))


def write_policy(policy: Policy, relative: Callable[[Path], str]) -> Iterator[str]:  # noqa: ARG001 - it has no paths
    """Write a policy as the lines of its section."""
    if not policy:
        return
    yield "[policy]"
    if policy.presets:
        yield f"preset = {written(policy.presets[0] if len(policy.presets) == 1 else policy.presets)}"
    for name in dict.fromkeys(rule.name for rule in policy.rules):
        said = [_document(rule) for rule in policy.rules if rule.name == name]
        yield f"{name} = {written(said[0] if len(said) == 1 else [_table_of(name, one) for one in said])}"
    yield ""


def _read_presets(table: TomlTable) -> tuple[str, ...]:
    from unveil.project.presets import PRESETS

    several = isinstance(table.fields.get("preset"), list)
    named = table.elements("preset", (str,), "text") if several else (table.text("preset"),)
    presets = tuple(name for name in named or () if name is not None)
    for name in presets:
        if name not in PRESETS:
            raise table.wrong(str(ArgumentError.not_one_of("preset", name, tuple(PRESETS))), "preset")
    return presets


def _read_rules(table: TomlTable, name: str) -> Iterator[Rule]:
    """Read what a rule says: a number, "report", a table, or a list of tables."""
    said = table.fields[name]
    if RULES[name].flag and said != _UNDECIDED:
        if said is not False:
            raise table.wrong(f"{name} can only be false; leave the rule out where it does not matter.", name)
        yield Rule(name, 0)
    elif isinstance(said, Mapping):
        yield _read_rule(table.table(name), name)
    elif isinstance(said, list) and said and all(isinstance(one, Mapping) for one in said):
        for at, one in enumerate(said):
            yield _read_rule(TomlTable(table.file, table.lines, (*table.path, name, at), one), name)
    elif said == _UNDECIDED:
        yield Rule(name)
    elif isinstance(said, bool) or not isinstance(said, int | float):
        raise table.wrong(f'expected a number, "{_UNDECIDED}", a table or a list of tables.', name)
    else:
        yield Rule(name, _threshold(table, name, name))


def _read_rule(table: TomlTable, name: str) -> Rule:
    form = RULES[name]
    table.only((form.side, *form.parameters))
    given = {parameter: _READERS[parameter](table, parameter) for parameter in form.parameters if parameter in table.fields}
    return Rule(name, _threshold(table, form.side, name), given)


def _threshold(table: TomlTable, key: str, name: str) -> float | None:
    form, value = RULES[name], table.number(key)
    if value is None:
        return None
    if not (form.low <= value <= form.high and math.isfinite(value)) or (form.whole and not value.is_integer()):
        kind = "a whole number" if form.whole else "a number"
        limits = f"from {form.low:g}" + (f" to {form.high:g}" if math.isfinite(form.high) else " up")
        raise table.wrong(f"the threshold of {name} is {kind} {limits}, so it is not {value:g}.", key)
    return int(value) if form.whole else value


# What parameters hold -------------------------------------------------------------------------------------------------


def _text(table: TomlTable, name: str) -> str | None:
    return table.text(name)


def _texts(table: TomlTable, name: str) -> tuple[str, ...]:
    several = isinstance(table.fields[name], list)
    return tuple((table.elements(name, (str,), "text") if several else (table.text(name),)) or ())


def _share(table: TomlTable, name: str) -> float:
    value = table.number(name)
    if value is None or not 0.0 < value <= 1.0:
        raise table.wrong("a risk lies between 0 and 1.", name)
    return value


def _length(table: TomlTable, name: str) -> int:
    value = table.number(name)
    if value is None or not value.is_integer() or value < 2:  # noqa: PLR2004 - the least l of recursive diversity
        raise table.wrong("l is a whole number from 2 up.", name)
    return int(value)


def _secret(table: TomlTable, name: str) -> str | bool | None:
    """Read the sensitive side of a rate: a column, or true for each sensitive attribute."""
    return table.fields[name] is True or table.text(name)


def _partitions(table: TomlTable, name: str) -> dict[str, Any]:
    """Read partitions by column, and keep them as they are written once they are known to be ones."""
    documents = dict(table.table(name).fields)
    for column, document in documents.items():
        try:
            Partition.from_document(document)
        except PartitionError as problem:
            raise table.table(name).wrong(str(problem), column) from None
    return documents


def _level(table: TomlTable, name: str) -> float | str | None:
    """Read how far a sensitive cell must stay open: as its rule asks, not exactly known, or a number."""
    return table.word(name, ("rule", "none")) if isinstance(table.fields[name], str) else table.number(name)


_READERS: dict[str, Callable[[TomlTable, str], Any]] = {
    "attribute": _text,
    "distance": lambda table, name: table.word(name, DISTANCE_WORDS),
    "l": _length,
    "above": _share,
    "key": _texts,
    "sensitive": _secret,
    "adjusted": TomlTable.flag,
    "missing_is_sensitive": TomlTable.flag,
    "partitions": _partitions,
    "except": _texts,
    "confidence": lambda table, name: table.word(name, _CONFIDENCES),
    "item": lambda table, name: table.word(name, _ITEMS),
    "by": _texts,
    "value": _text,
    "rule": _texts,
    "attacker": _text,
    "insiders": lambda table, name: table.word(name, ("singletons", "none")),
    "total": _text,
    "holding": _text,
    "request": _text,
    "linked": _texts,
    "signed": TomlTable.flag,
    "on": lambda table, name: table.word(name, ("count", "value")),
    "zeros": lambda table, name: table.word(name, ("publish", "suppress", "structural")),
    "level": _level,
    "width": TomlTable.number,
}


def _document(rule: Rule) -> Any:
    """Return what a file says about a rule."""
    if rule.form.flag and rule.threshold is not None:
        return False
    if not rule.parameters:
        return _UNDECIDED if rule.threshold is None else rule.threshold
    return dict(rule.parameters) | ({} if rule.threshold is None else {rule.form.side: rule.threshold})


def _table_of(name: str, said: Any) -> Any:
    """Return a rule as a table, as it is in a list."""
    return said if isinstance(said, Mapping) else {} if said == _UNDECIDED else {RULES[name].side: said}


def _as_toml(value: Any) -> Any:
    """Return Python values as TOML would hold them: lists for tuples."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ArgumentError(f"a policy names its rules by text, not {shown(name)}.")
        return {name: _as_toml(item) for name, item in value.items()}
    return [_as_toml(item) for item in value] if isinstance(value, list | tuple) else value
