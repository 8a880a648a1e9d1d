"""A verdict as JUnit XML, for pipelines: a test case for every rule.

A rule that is not met is a failure. One that is not decided is an error, not a skipped test: pipelines ignore skipped tests.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from unveil.formats import number

if TYPE_CHECKING:
    from unveil.assess.policy.verdict import Verdict

__all__ = ["junit"]

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain; the name of a column may contain one."""


def junit(verdict: Verdict) -> str:
    """Return the verdict as JUnit XML.

    Examples
    --------
    >>> import unveil
    >>> print(junit(unveil.check("paper-3", "cell-size-3", key=["ZIP*", "Age*"])))
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="unveil" tests="2" failures="0" errors="0">
      <testsuite name="unveil check: cell-size-3" tests="2" failures="0" errors="0" skipped="0">
        <testcase classname="unveil.policy.cell-size-3" name="k_anonymity of the key: at least 3" />
        <testcase classname="unveil.policy.cell-size-3" name="direct_identifiers of columns: at most 0" />
      </testsuite>
    </testsuites>
    """
    cases = [*_rules(verdict), *_drift(verdict), *_changes(verdict)]
    tallies = {"failures": sum(kind == "failure" for _, kind, _ in cases), "errors": sum(kind == "error" for _, kind, _ in cases)}
    counts = {"tests": str(len(cases)), **{name: str(n) for name, n in tallies.items()}}
    root = ET.Element("testsuites", {"name": "unveil", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _held(f"unveil check: {verdict.policy}"), **counts, "skipped": "0"})
    for name, kind, why in cases:
        case = ET.SubElement(suite, "testcase", {"classname": _held(f"unveil.policy.{verdict.policy}"), "name": _held(name)})
        if kind:
            ET.SubElement(case, kind, {"message": _held(why), "type": "not met" if kind == "failure" else "not decided"})
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _rules(verdict: Verdict) -> list[tuple[str, str, str]]:
    """Return the name of every rule, the kind of its problem ("" if there is none), and the problem."""
    cases = []
    for outcome in verdict.outcomes:
        name = f"{outcome.rule.name} of {outcome.of}: {outcome.rule.requirement}"
        value = "no figure" if outcome.value is None else f"found {number(outcome.value)}"
        kind = {True: "", False: "failure", None: "error"}[outcome.met]
        cases.append((name, kind, "; ".join(part for part in (value, outcome.why) if part)))
    return cases


def _drift(verdict: Verdict) -> list[tuple[str, str, str]]:
    return [
        (
            f"drift of {one.rule} of {one.of}: at most {one.allowed:g}",
            "" if one.met else "failure",
            f"from {number(one.before)} to {number(one.now)}, the risk grew by {number(one.growth)}",
        )
        for one in verdict.drift
    ]


def _changes(verdict: Verdict) -> list[tuple[str, str, str]]:
    new = [one for one in verdict.changes if not one.met]
    return [(f"{one.what}: {one.of}", "failure", "the earlier result had no such column") for one in new]


def _held(text: str) -> str:
    """Return a text without characters that XML cannot contain."""
    return _FORBIDDEN.sub("\ufffd", text)
