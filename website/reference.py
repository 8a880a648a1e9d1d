"""Tables of the documentation that are made from the code: verbs and their options, parameters, models, policy rules.

A page marks where a table stands, and `make docs-reference` writes it there; what is between the marks is never written by hand:

    <!-- generated: options of unveil dr -->
    <!-- end -->
"""  # noqa: INP001

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

import unveil
from unveil.cli.verbs import app
from unveil.project.rules import RULES

__all__ = ["BLOCK", "DOCS", "generated", "mechanisms", "models", "update", "verbs"]

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"(?P<start><!-- generated: (?P<what>.+?) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)

_MORE: dict[str, str] = {
    "--allow": "check.md#drift-is-it-riskier-than-before",
    "--average-risk": "measures/re-identification-risk.md",
    "--baseline": "check.md#drift-is-it-riskier-than-before",
    "--beta": "measures/beta-and-delta.md",
    "--checkpoint": "scale.md#a-scan-that-can-be-stopped",
    "--control": "attacks/record-linkage.md#a-control",
    "--delta": "measures/beta-and-delta.md",
    "--experiments": "experiments.md",
    "--external": "attacks/identity.md#grey-box",
    "--hierarchy": "partitions-and-hierarchies.md#hierarchies",
    "--k": "measures/k-anonymity.md",
    "--k-map": "measures/k-anonymity.md#against-a-population-k-map-and-delta-presence",
    "--key-file": "report.md#hashes-of-the-data",
    "--l": "measures/l-diversity.md",
    "--loglinear": "measures/uniqueness.md",
    "--loss": "compare.md#the-figures",
    "--max-distinct": "scale.md#a-limit-and-an-estimate-beyond-it",
    "--need": "utility/needs.md",
    "--objective": "anonymise/full-domain.md#what-to-minimise",
    "--partition": "partitions-and-hierarchies.md",
    "--policy": "check.md#write-a-policy",
    "--presence": "measures/k-anonymity.md#against-a-population-k-map-and-delta-presence",
    "--project": "project-file.md",
    "--pseudonymize": "mechanisms/pseudonymisation.md",
    "--record": "repeatable.md#the-record-of-a-release",
    "--sampling-fraction": "measures/uniqueness.md",
    "--spreadsheet-safe": "report.md#formulas-in-spreadsheets",
    "--suda": "measures/special-uniqueness.md",
    "--t": "measures/t-closeness.md",
    "--task": "utility/tasks.md",
    "--time-limit": "anonymise/full-domain.md#limits",
    "--wildcard-weight": "measures/nulls-as-wildcards.md",
    "anonymize --key-file": "repeatable.md",
    "anonymize --mechanism": "parameters.md#mechanisms",
    "anonymize --out": "engines.md#anonymise-where-the-data-lives",
    "anonymize --seed": "repeatable.md",
    "assess --redact": "report.md#what-is-masked",
    "front --key-file": "repeatable.md",
    "front --seed": "repeatable.md",
    "measure --weights": "measures/re-identification-risk.md#the-risk-of-a-record-from-weights",
}
"""The page that says more about an option, of every verb or of one."""


_RULE_PAGES: dict[str, str] = {
    "direct_identifiers": "direct-identifiers.md",
    "discrimination_rate": "measures/discrimination-rate.md",
    "distinct_l_diversity": "measures/l-diversity.md",
    "enhanced_beta_likeness": "measures/beta-and-delta.md",
    "homogeneity_attack": "attacks/global-figures.md",
    "identity_attack": "attacks/global-figures.md",
    "k_anonymity": "measures/k-anonymity.md",
    "linkage": "attacks/record-linkage.md",
    "prosecutor_highest": "measures/re-identification-risk.md",
    "repeatable": "repeatable.md",
    "safe_harbor": "presets.md#hipaa-safe-harbor",
    "sample_uniqueness": "measures/uniqueness.md",
    "t_closeness": "measures/t-closeness.md",
}
"""The page that says more about the figure of a rule."""


def generated(text: str) -> str:
    """Return a page with every marked table as the code has it now."""
    return BLOCK.sub(lambda block: f"{block['start']}{_block(block['what'])}{block['end']}", text)


def update() -> list[Path]:
    """Write the tables into their pages; return the pages that changed."""
    changed = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text("utf-8")
        if (now := generated(text)) != text:
            page.write_text(now, "utf-8")
            changed.append(page)
    return changed


def _block(what: str) -> str:
    for prefix, table in _BLOCKS.items():
        if what == prefix or (prefix.endswith(" ") and what.startswith(prefix)):
            return table(what.removeprefix(prefix))
    message = f"no table is generated for {what!r}; there are: {', '.join(_BLOCKS)}."
    raise ValueError(message)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


# Command line


@cache
def verbs() -> dict[str, Any]:
    """Return every verb, and every part of one that has parts, by the words that call it."""
    commands = getattr(typer.main.get_command(app), "commands", {})
    return {
        f"{name} {part}".strip(): command
        for name, verb in commands.items()
        for part, command in getattr(verb, "commands", {"": verb}).items()
    }


def _verbs(_: str) -> str:
    def row(name: str, command: Any) -> tuple[str, str]:
        return f"[`unveil {name}`](#unveil-{name.replace(' ', '-')})", _plain(command.help.split("\n\n")[0])

    return _table(("verb", "what it does"), (row(name, command) for name, command in verbs().items()))


def _options(verb: str) -> str:
    command = verbs()[verb]
    numbers = {name for name, hint in get_type_hints(command.callback).items() if int in (hint, *get_args(hint))}
    parameters = [one for one in command.params if "--help" not in one.opts and not one.hidden]
    rows = ((_name(one, "N" if one.name in numbers else "NUMBER"), _meaning(one, verb)) for one in parameters)
    return _table(("argument or option", "meaning"), rows)


def _name(parameter: Any, metavar: str) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
        return f"`{name}`" if parameter.required else f"`[{name.strip('[]')}]`"
    if getattr(parameter, "is_flag", False):
        return ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
    return f"`{max(parameter.opts, key=len)} {parameter.metavar or metavar}`"


def _meaning(parameter: Any, verb: str) -> str:
    help_text = _plain(parameter.help or "")
    parts = [help_text if help_text.endswith("...") else help_text.removesuffix(".")]
    if parameter.multiple and "repeat" not in help_text:
        parts.append("may be repeated")
    default = parameter.opts[0] if parameter.default is True else parameter.default
    if isinstance(default, str | float | int) and default is not False and "default" not in help_text.lower():
        parts.append(f"default: `{default}`")
    page = next((_MORE[name] for name in (f"{verb} {parameter.opts[0]}", parameter.opts[0]) if name in _MORE), None)
    return "; ".join(parts) + (f" ([more]({page}))" if page else "")


# Functions, mechanisms and models


def _parameters(name: str) -> str:
    """Return the parameters of a public function, as its docstring explains them."""
    function: Any = unveil
    for part in name.removeprefix("unveil.").split("."):
        function = getattr(function, part)
    return _parameter_table(function)


def _parameter_table(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function).parameters
    rows = []
    for names, meaning in _documented(inspect.getdoc(function) or ""):
        defaults = {_default(signature[name]) for name in names if name in signature}
        rows.append((", ".join(f"`{name}`" for name in names), meaning, " or ".join(sorted(defaults))))
    return _table(("parameter", "meaning", "default"), rows)


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "required"
    return "none" if parameter.default in (None, (), {}) else f"`{parameter.default!r}`"


def _documented(docstring: str) -> Iterator[tuple[list[str], str]]:
    """Yield the names and the meaning of each entry of a docstring's section on parameters."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    entries = re.split(r"^(?=\S)", section[1] if section else "", flags=re.MULTILINE)
    for entry in filter(str.strip, entries):
        names, _, meaning = entry.partition("\n")
        yield [name.strip() for name in names.split(":")[0].split(",")], _plain(meaning)


def _plain(text: str) -> str:
    """Turn the marks of a docstring or of a help text into those of a page, on one line."""
    text = re.sub(r"\s+", " ", text).strip().replace("\\[", "[")
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    text = re.sub(r"\s?\[\d+\]_", "", text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", text)
    return text.replace("``", "`")


def mechanisms() -> dict[str, Callable[..., Any]]:
    """Return every mechanism by its name."""
    named = {name: getattr(unveil.mechanisms, name) for name in unveil.mechanisms.__all__}
    return {name: function for name, function in sorted(named.items()) if not isinstance(function, type)}


def _mechanisms(_: str) -> str:
    def part(name: str, function: Callable[..., Any]) -> str:
        first = _plain((inspect.getdoc(function) or "").split("\n\n")[0])
        return f"\n### {name}\n\n{first}\n\n{_parameter_table(function)}"

    return "".join(part(name, function) for name, function in mechanisms().items()) + "\n"


def models() -> dict[str, type]:
    """Return every model that can be required, by its name."""
    named = {name: getattr(unveil.models, name) for name in unveil.models.__all__}
    return {name: kind for name, kind in named.items() if isinstance(getattr(kind, "name", None), str)}


def _models(_: str) -> str:
    def row(name: str, kind: Any) -> tuple[str, str, str]:
        taken = ", ".join(
            one.name if one.default in (None, MISSING) else f"{one.name}={one.default!r}"
            for one in fields(kind)
            if one.init and one.repr
        )
        return f"`{name}({taken})`", _plain((inspect.getdoc(kind) or "").split("\n\n")[0]), f"`{kind.name}`"

    return _table(("model", "requires", "name in results"), (row(name, kind) for name, kind in models().items()))


def _rules(_: str) -> str:
    def row(name: str, rule: Any) -> tuple[str, str, str, str]:
        threshold = "`false`" if rule.flag else rule.side.replace("_", " ")
        more = f" ([more]({_RULE_PAGES[name]}))" if name in _RULE_PAGES else ""
        return f"`{name}`", rule.about + more, threshold, ", ".join(_rule_parameters(rule.parameters))

    return _table(("rule", "figure", "threshold", "parameters"), (row(name, rule) for name, rule in RULES.items()))


def _rule_parameters(parameters: Mapping[str, Any]) -> Iterator[str]:
    for name, default in parameters.items():
        yield f"`{name}`" if default in (None, ()) else f"`{name}` ({str(default).lower() if default is False else default})"


_BLOCKS: dict[str, Callable[[str], str]] = {
    "verbs": _verbs,
    "options of unveil ": _options,
    "parameters of ": _parameters,
    "mechanisms": _mechanisms,
    "models": _models,
    "policy rules": _rules,
}
"""What can be generated; a name that ends in a space is followed by what it is of."""


if __name__ == "__main__":
    sys.stdout.writelines(f"written: {page.relative_to(DOCS.parent)}\n" for page in update())
