"""The text of a proposed project file: the evidence as comments, and for a wide table one line per column."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from unveil import __version__
from unveil.assess.proposals import ColumnProposal
from unveil.attributes import ROLES
from unveil.formats import counted
from unveil.project import Attribute, Project, written, written_key

__all__ = ["commented", "project_text"]

_WIDTH = 116
_LONGEST_REMARK = 160


def project_text(project: Project, proposals: Sequence[ColumnProposal], origin: str, notes: Sequence[str], *, wide: bool) -> str:
    """Return the text of the project file, with the evidence as comments.

    Parameters
    ----------
    project, proposals
        The project, and the proposal for each column.
    origin, notes
        The origin of the proposals, and further remarks.
    wide
        Whether each column has one line, by its role, instead of a section.
    """
    if wide:
        body = [*project_lines(project), "[attributes]", *_by_role(project, proposals)]
    else:
        comments = {f"[attributes.{written_key(one.column)}]": one for one in proposals}
        body = []
        for line in project.to_toml().removesuffix("\n").split("\n"):
            if line in comments:
                body += commented(*comments[line].reasons)
            body.append(line)
    return "\n".join([*_opening(origin, len(proposals), notes), *body, *_CLOSING]) + "\n"


def project_lines(project: Project) -> list[str]:
    """Return the lines before the attributes."""
    return project.to_toml().split("[attributes.", 1)[0].removesuffix("\n").split("\n")


def _by_role(project: Project, proposals: Sequence[ColumnProposal]) -> Iterator[str]:
    """Yield one line for each column, by role, with those that single out most first."""
    for role in ROLES:
        those = sorted((one for one in proposals if one.role == role), key=lambda one: -(one.alone.rate if one.alone else 0.0))
        if those:
            yield from ("", f"# {role}: {counted(len(those), 'column')}")
            yield from (_line(project.attributes[one.column], one) for one in those)


def _line(attribute: Attribute, one: ColumnProposal) -> str:
    fields = {"role": attribute.role, "kind": attribute.kind, "missing": list(attribute.missing)}
    inside = written({name: value for name, value in fields.items() if value})
    remark = _printable(_remark(one))
    cut = remark if len(remark) <= _LONGEST_REMARK else remark[: _LONGEST_REMARK - 3] + "..."
    return f"{written_key(attribute.name)} = {inside}  # {cut}"


def _remark(one: ColumnProposal) -> str:
    if one.alone is None:
        return one.reasons[0]
    figures = f"{one.alone.distinct:,} values, rate {one.alone.rate:.2f}, {one.alone.uniques:,} alone"
    remarks = [figures]
    if one.sensitive is not None:
        remarks.append(f"{one.sensitive.about} ({one.sensitive.law})")
    if one.role in ("identifier", "person", "household"):
        remarks.append(one.reasons[1])
    if one.alike:
        remarks.append(f"says the same as {', '.join(one.alike)}")
    remarks += [question.text for question in one.questions]
    return "; ".join(remarks)


def commented(*sentences: str) -> list[str]:
    """Return sentences as comment lines, without characters that TOML forbids in a comment."""
    return [f"# {line}" for sentence in map(_printable, sentences) for line in textwrap.wrap(sentence, _WIDTH)]


def _printable(sentence: str) -> str:
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in sentence)


def _opening(origin: str, columns: int, notes: Sequence[str]) -> list[str]:
    heading = f"Proposed by unveil {__version__} from {origin}, {counted(columns, 'column')}."
    how = (
        "Read every role and change what is wrong. identifier: names a person outright; key: an intruder may know it; sensitive: "
        "to be kept secret; person: whose record it is; household: who lives together; weight: the sampling weight; keep: "
        "released as it is, because you vouch for it; other: undecided, never measured."
    )
    return [*commented(heading, how, *notes), ""]


_CLOSING = (
    "",
    "# The rules that a release must meet to pass a check; remove the leading signs, or choose another preset.",
    "# [policy]",
    '# preset = "cell-size-5"',
)
