"""Proposals for columns: a role, a kind and a hierarchy, with the evidence in words, and questions in case of doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unveil.assess.absent import MissingCode
from unveil.assess.alike import AlikeColumns
from unveil.assess.marks import SensitiveMark, sensitive_mark
from unveil.attributes import Kind, Role
from unveil.formats import counted, number
from unveil.measures import ColumnExposure, column_exposure
from unveil.naming import hints_of, words_of
from unveil.partitions import Hierarchy, RootOnly, propose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from unveil.identifiers import Finding

__all__ = ["ColumnProposal", "InitQuestion", "TableFacts", "proposed_column"]

_MOST_LEAVES = 5_000
"""Columns with more values have no hierarchy proposed: its file would be as long as the data."""
_NEARLY_ALL = 0.9
_WEIGHTS = frozenset(("fnlwgt", "wgt", "pweight", "wt", "ponderation", "hochrechnungsfaktor", "gewichtung", "ponderacion"))


@dataclass(frozen=True, slots=True)
class InitQuestion:
    """A question that the data leaves open.

    Attributes
    ----------
    column, text
        The column, and the question.
    answers
        The possible answers: roles, or yes and no.
    default
        The default answer, used if nobody answers.
    """

    column: str
    text: str
    answers: tuple[str, ...]
    default: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {"column": self.column, "text": self.text, "answers": list(self.answers), "default": self.default}


@dataclass(frozen=True, slots=True)
class ColumnProposal:
    """The proposal for a column, with the reasons.

    Attributes
    ----------
    column, role, kind
        The column, its role, and its kind; without a kind, it is inferred when needed.
    alone
        What it discloses by itself; None if its values cannot be counted.
    reasons
        The evidence, in sentences that repeat no value.
    sensitive
        The evidence that it may be sensitive; None: there is none.
    hierarchy
        The proposed hierarchy.
    missing
        Values that seem to represent a missing one; those that are certain are read as nulls.
    alike
        Other columns that hold the same information.
    questions
        The questions that the data leaves open.
    """

    column: str
    role: Role
    kind: Kind | None
    alone: ColumnExposure | None
    reasons: tuple[str, ...]
    sensitive: SensitiveMark | None = None
    hierarchy: Hierarchy | None = None
    missing: tuple[MissingCode, ...] = ()
    alike: tuple[str, ...] = ()
    questions: tuple[InitQuestion, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {
            "column": self.column,
            "role": self.role,
            "kind": self.kind,
            "distinct": None if self.alone is None else self.alone.distinct,
            "uniques": None if self.alone is None else self.alone.uniques,
            "discrimination_rate": None if self.alone is None else self.alone.rate,
            "sensitive": None if self.sensitive is None else self.sensitive.to_dict(),
            "hierarchy_levels": None if self.hierarchy is None else self.hierarchy.height,
            "missing": [code.to_dict() for code in self.missing],
            "says_the_same_as": list(self.alike),
            "questions": [question.to_dict() for question in self.questions],
            "reasons": list(self.reasons),
        }

    def read_as_null(self) -> tuple[str, ...]:
        """Return the texts that represent a null in this column."""
        return tuple(code.text for code in self.missing if code.sure)

    def answered(self, question: InitQuestion, answer: str) -> ColumnProposal:
        """Return the proposal with a question answered."""
        left = tuple(one for one in self.questions if one != question)
        if answer in ("yes", "no"):
            codes = tuple(replace(code, sure=answer == "yes") if not code.sure else code for code in self.missing)
            return replace(self, missing=codes, questions=left)
        hierarchy = self.hierarchy if answer == "key" else None
        reasons = (*self.reasons, f"Role by your answer: {answer}.")
        return replace(self, role=answer, hierarchy=hierarchy, reasons=reasons, questions=left)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The facts about the whole table that are known before a column is judged.

    Attributes
    ----------
    records, persons
        The number of records, and of the persons to whom they belong.
    findings
        The best finding of each column that looks like a direct identifier.
    person, household
        The columns that identify the person and the household of a record, each with its evidence.
    alike
        Groups of columns that hold the same information.
    missing
        Values that seem to represent a missing one, by column.
    trees
        Hierarchies that follow from other columns, with the reason.
    hierarchies
        Whether hierarchies are proposed; none is written for a very wide table.
    """

    records: int
    persons: int
    findings: Mapping[str, Finding]
    person: tuple[str, str] | None
    household: tuple[str, str] | None
    alike: tuple[AlikeColumns, ...]
    missing: Mapping[str, tuple[MissingCode, ...]]
    trees: Mapping[str, tuple[Hierarchy, str]]
    hierarchies: bool = True


def proposed_column(name: str, values: Sequence[Any], counts: NDArray[np.int64], facts: TableFacts) -> ColumnProposal:
    """Judge one column by its values in order, with a null last, and the number of records of each."""
    exposure, finding = column_exposure(counts[counts > 0]), facts.findings.get(name)
    mark = sensitive_mark(name, values)
    role = _role(name, exposure, mark, facts)
    alike = next((one for one in facts.alike if name in one.columns), None)
    reasons = [*_reasons(exposure, finding, facts), *_why(name, role, mark, facts)]
    if alike is not None:
        reasons.append(f"{alike.in_words()} One of them is enough.")
    missing = facts.missing.get(name, ())
    reasons += [f"Missing? {code.in_words()}{'; read as null' if code.sure else ''}." for code in missing]
    questions = tuple(_questions(name, role, exposure, mark, finding, missing))
    hierarchy = None
    if role == "key":
        if exposure.uniques >= _NEARLY_ALL * facts.records:
            reasons.append(
                "Nearly every record has its own value: anyone who knows it knows the person. If nobody can know it: 'other'."
            )
        hierarchy, reason = facts.trees.get(name) or _hierarchy(name, values, counts, facts)
        reasons.append(reason)
    others = () if alike is None else tuple(other for other in alike.columns if other != name)
    return ColumnProposal(name, role, _kind(name, values), exposure, tuple(reasons), mark, hierarchy, missing, others, questions)


def _role(name: str, exposure: ColumnExposure, mark: SensitiveMark | None, facts: TableFacts) -> Role:
    """Propose a role; a date of birth can be made coarser, so it is a key attribute."""
    finding = facts.findings.get(name)
    if facts.person is not None and name == facts.person[0]:
        return "person"
    if facts.household is not None and name == facts.household[0]:
        return "household"
    if finding is not None and finding.category != "birth-date":
        own = exposure.distinct >= _NEARLY_ALL * facts.persons
        if finding.confidence != "possible" or own:
            return "identifier"
    if exposure.distinct < 2:  # noqa: PLR2004 - two values
        return "other"
    return "sensitive" if mark is not None and mark.sure else "key"


def _reasons(exposure: ColumnExposure, finding: Finding | None, facts: TableFacts) -> Iterator[str]:
    yield (
        f"{counted(exposure.distinct, 'value')}; Discrimination Rate {number(exposure.rate)} against record identity; "
        f"alone it singles out {exposure.uniques:,} of {counted(facts.records, 'record')}."
    )
    if finding is not None:
        yield f"{finding.confidence.capitalize()}: {finding.category} ({'; '.join(finding.evidence)})."


def _why(name: str, role: Role, mark: SensitiveMark | None, facts: TableFacts) -> Iterator[str]:
    """Yield the reasons for the role."""
    if role == "identifier":
        if facts.findings[name].confidence == "possible":
            yield "Nearly everybody has a value of their own."
        yield "Remove or replace it before anything is released."
    elif role == "person" and facts.person is not None:
        yield f"Whose record it is: {facts.person[1]}. Figures count persons, and it is left out of releases."
    elif role == "household" and facts.household is not None:
        yield f"Who lives together: {facts.household[1]}."
    elif role == "other":
        yield "One value only: it distinguishes nobody."
    elif mark is not None:
        yield mark.in_words()
        if role == "key":
            yield "Others can see it, or there is doubt; if it is sensitive, change the role to 'sensitive'."
    if role == "key" and _says_sampling_weight(name):
        yield "A sampling weight? Then change the role to 'weight'."


def _says_sampling_weight(name: str) -> bool:
    words = {*words_of(name)}
    return bool(words & _WEIGHTS) or ("weight" in words and bool(words & {"sample", "sampling", "survey", "final", "person"}))


def _questions(
    name: str,
    role: Role,
    exposure: ColumnExposure,
    mark: SensitiveMark | None,
    finding: Finding | None,
    missing: tuple[MissingCode, ...],
) -> Iterator[InitQuestion]:
    """Yield questions on everything that name and values leave in doubt; the default is the proposal."""
    if (
        role in ("key", "identifier")
        and finding is not None
        and finding.category != "birth-date"
        and finding.confidence == "possible"
    ):
        why = f"{finding.category}, possibly: {'; '.join(finding.evidence)}"
        yield InitQuestion(name, f"Does {name} name people ({why})?", ("key", "identifier", "other"), role)
    elif role == "key" and mark is not None:
        yield InitQuestion(name, f"Is {name} sensitive ({mark.evidence})?", ("key", "sensitive"), "key")
    elif role == "key" and finding is None and exposure.rate >= _NEARLY_ALL and exposure.uniques:
        why = f"alone it singles out {exposure.uniques:,} records"
        yield InitQuestion(name, f"May an intruder know {name} ({why})?", ("key", "identifier", "sensitive", "other"), "key")
    if any(not code.sure for code in missing):
        codes = " and ".join(code.text for code in missing if not code.sure)
        yield InitQuestion(name, f"Does {codes} in {name} stand for a missing value?", ("yes", "no"), "no")


def _kind(name: str, values: Sequence[Any]) -> Kind | None:
    """Propose a kind: numbers are continuous, except codes; the kind of dates is inferred when needed."""
    present = [value for value in (values[0], values[len(values) // 2]) if value is not None]
    if not present or hasattr(present[0], "isoformat"):
        return None
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
    hints = hints_of(name)
    is_code = "postcode" in hints or ("code" in hints and "quantity" not in hints)
    return "continuous" if numbers and not is_code else "nominal"


def _hierarchy(name: str, values: Sequence[Any], counts: NDArray[np.int64], facts: TableFacts) -> tuple[Hierarchy | None, str]:
    """Propose a hierarchy, with the reason for this one, or for none."""
    if not facts.hierarchies:
        return None, "Hierarchy: proposed when a verb needs one."
    if len(values) > _MOST_LEAVES:
        return None, f"Hierarchy: none; {len(values):,} values are too many for a file; build one by a rule."
    proposal = propose(list(values), counts.tolist(), column=name)
    if isinstance(proposal.rule, RootOnly):
        return None, f"Hierarchy: none; {proposal.reason}."
    return proposal.hierarchy, f"Hierarchy: {proposal.reason}."
