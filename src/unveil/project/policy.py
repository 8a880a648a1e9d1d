"""Policies: the rules that a release must meet, with their thresholds, alone or in addition to a preset.

A policy is in a file of its own, or in the section `policy` of the project file; both have the same form. A rule is a number
(its threshold), the word "report" (the figure is reported, its threshold not decided yet), a table with parameters, or a list
of tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from unveil.arguments import checked_arguments
from unveil.errors import ArgumentError, PartitionError, shown
from unveil.partitions import Partition, PathLike
from unveil.project._table import TomlTable, read_table
from unveil.project.presets import PRESETS
from unveil.project.rules import DISTANCE_WORDS, ITEM_LETTERS, RULES, Rule
from unveil.project.toml_text import written

__all__ = ["Policy", "read_policy", "write_policy"]

_UNDECIDED = "report"
_CONFIDENCES = ("certain", "likely", "possible")


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules that a release must meet.

    Parameters
    ----------
    name
        The name of the policy: that of its file, or its preset.
    presets
        The presets that it builds on; a rule of its own replaces a preset's rule with the same name and parameters.
    rules
        Its own rules.
    path
        The file from which it was read.

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

    def in_force(self) -> tuple[Rule, ...]:
        """Return the rules of the presets and the policy's own, each once."""
        rules = {rule.place: rule for name in self.presets for rule in PRESETS[name].rules}
        for rule in self.rules:
            rules[rule.place] = replace(rule, question=rules[rule.place].question) if rule.place in rules else rule
        return tuple(rules.values())

    @classmethod
    @checked_arguments
    def of(cls, rules: Mapping[str, Any], name: str = "policy") -> Policy:
        """Return the policy that a mapping describes, in the form of a file."""
        return read_policy(TomlTable(Path(name), {}, (), _as_toml(rules)), name)

    @classmethod
    @checked_arguments
    def preset(cls, name: str) -> Policy:
        """Return the policy that consists of one preset."""
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
            If the file does not exist.
        ProjectError
            If it is not TOML, or a rule is unknown or malformed; with line and key.
        """
        root = read_table(path)
        return replace(read_policy(root, root.file.stem), path=root.file)


def read_policy(table: TomlTable, name: str = "policy") -> Policy:
    """Read the rules in a table of a file."""
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
        documents = [_document(rule) for rule in policy.rules if rule.name == name]
        yield f"{name} = {written(documents[0] if len(documents) == 1 else [_table_of(name, one) for one in documents])}"
    yield ""


def _read_presets(table: TomlTable) -> tuple[str, ...]:
    several = isinstance(table.fields.get("preset"), list)
    named = table.elements("preset", (str,), "text") if several else (table.text("preset"),)
    presets = tuple(name for name in named or () if name is not None)
    for name in presets:
        if name not in PRESETS:
            raise table.wrong(str(ArgumentError.not_one_of("preset", name, tuple(PRESETS))), "preset")
    return presets


def _read_rules(table: TomlTable, name: str) -> Iterator[Rule]:
    """Read the value of a rule: a number, "report", a table, or a list of tables."""
    value = table.fields[name]
    if RULES[name].flag and value != _UNDECIDED:
        if value is not False:
            raise table.wrong(f"{name} can only be false; leave the rule out if it does not matter.", name)
        yield Rule(name, 0)
    elif isinstance(value, Mapping):
        yield _read_rule(table.table(name), name)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        for at, one in enumerate(value):
            yield _read_rule(TomlTable(table.file, table.lines, (*table.path, name, at), one), name)
    elif value == _UNDECIDED:
        yield Rule(name)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise table.wrong(f'expected a number, "{_UNDECIDED}", a table or a list of tables.', name)
    else:
        yield Rule(name, _threshold(table, name, name))


def _read_rule(table: TomlTable, name: str) -> Rule:
    form = RULES[name]
    table.only((form.side, *form.parameters))
    parameters = {parameter: _READERS[parameter](table, parameter) for parameter in form.parameters if parameter in table.fields}
    return Rule(name, _threshold(table, form.side, name), parameters)


def _threshold(table: TomlTable, key: str, name: str) -> float | None:
    form, value = RULES[name], table.number(key)
    if value is None:
        return None
    if not (form.low <= value <= form.high and math.isfinite(value)) or (form.whole and not value.is_integer()):
        kind = "a whole number" if form.whole else "a number"
        limits = f"from {form.low:g}" + (f" to {form.high:g}" if math.isfinite(form.high) else " up")
        raise table.wrong(f"the threshold of {name} is {kind} {limits}, and {value:g} is not.", key)
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


def _sensitive_side(table: TomlTable, name: str) -> str | bool | None:
    """Read the sensitive side of a rate: a column, or true for each sensitive attribute."""
    return table.fields[name] is True or table.text(name)


def _partitions(table: TomlTable, name: str) -> dict[str, Any]:
    """Read partitions by column; after they are checked, they are kept as written."""
    documents = dict(table.table(name).fields)
    for column, document in documents.items():
        try:
            Partition.from_document(document)
        except PartitionError as problem:
            raise table.table(name).wrong(str(problem), column) from None
    return documents


def _level(table: TomlTable, name: str) -> float | str | None:
    """Read how uncertain a sensitive cell must stay: as its rule requires, not exactly known, or a number."""
    return table.word(name, ("rule", "none")) if isinstance(table.fields[name], str) else table.number(name)


_READERS: dict[str, Callable[[TomlTable, str], Any]] = {
    "attribute": _text,
    "distance": lambda table, name: table.word(name, DISTANCE_WORDS),
    "l": _length,
    "above": _share,
    "key": _texts,
    "sensitive": _sensitive_side,
    "adjusted": TomlTable.flag,
    "missing_is_sensitive": TomlTable.flag,
    "partitions": _partitions,
    "except": _texts,
    "confidence": lambda table, name: table.word(name, _CONFIDENCES),
    "item": lambda table, name: table.word(name, ITEM_LETTERS),
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
    """Return a rule in the form of a file."""
    if rule.form.flag and rule.threshold is not None:
        return False
    if not rule.parameters:
        return _UNDECIDED if rule.threshold is None else rule.threshold
    return dict(rule.parameters) | ({} if rule.threshold is None else {rule.form.side: rule.threshold})


def _table_of(name: str, document: Any) -> Any:
    """Return a rule as a table, as in a list."""
    return document if isinstance(document, Mapping) else {} if document == _UNDECIDED else {RULES[name].side: document}


def _as_toml(value: Any) -> Any:
    """Return Python values in the form of TOML: lists for tuples."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise ArgumentError(f"the names of a policy's rules are texts, not {shown(name)}.")
        return {name: _as_toml(item) for name, item in value.items()}
    return [_as_toml(item) for item in value] if isinstance(value, list | tuple) else value
