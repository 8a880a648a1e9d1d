"""The groups of options that most verbs begin and end with: the data and its roles, and where the answer goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unveil.cli.inputs import Inputs, NamedRoles, ReadingOptions, gather, one_sensitive
from unveil.cli.options import (
    SMALL,
    Data,
    Identity,
    Json,
    Key,
    KeyFile,
    NullPolicy,
    Out,
    PartitionFile,
    Sensitive,
    Small,
    SpreadsheetSafe,
    Unmasked,
    Weights,
    give,
    read_here,
)

if TYPE_CHECKING:
    from unveil.results import Result
    from unveil.study import Study

__all__ = ["AnswerOptions", "EvidenceOptions", "FormOptions", "SourceOptions", "StudyOptions"]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Data without roles, and how it is read."""

    data: Data = None
    nulls: NullPolicy = None
    weights: Weights = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> Inputs:
        """Open the data as the command line and the project file say."""
        return gather(self.data, self.reading, NamedRoles(nulls=self.nulls, weights=self.weights))


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """Data with its key and at most one sensitive side, and how it is read."""

    data: Data = None
    key: Key = None
    sensitive: Sensitive = None
    identity: Identity = False
    partition: PartitionFile = None
    nulls: NullPolicy = None
    weights: Weights = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def study(self, *, keyed: bool = False) -> Study:
        """Open the study; `keyed` refuses one without a key."""
        roles = NamedRoles(self.key, self.sensitive, self.partition, self.nulls, self.weights)
        inputs = gather(self.data, self.reading, roles)
        if keyed:
            inputs.required_key()
        return one_sensitive(inputs, self.sensitive, identity=self.identity)


@dataclass(frozen=True, slots=True)
class FormOptions:
    """Where the answer goes, and in which form."""

    as_json: Json = False
    out: Out = None
    spreadsheet_safe: SpreadsheetSafe = True

    def give(self, result: Result) -> None:
        """Write the answer to a file, print it as JSON, or show it."""
        give(result, as_json=self.as_json, out=self.out, spreadsheet_safe=self.spreadsheet_safe)


@dataclass(frozen=True, slots=True)
class EvidenceOptions(FormOptions):
    """Where the answer goes, in which form, and what it can be held to."""

    key_file: KeyFile = None

    def give(self, result: Result) -> None:
        """Write the answer to a file, print it as JSON, or show it, with the hashes of what was read if there is a key."""
        FormOptions.give(self, self.evidenced(result.displayed()))

    def evidenced(self, displayed: Result) -> Result:
        """Return an answer as it is displayed, with the hashes of what was read if there is a key."""
        if self.key_file is None:
            return displayed
        from unveil.assess.evidence import Evidence, Evidenced, read_files

        return Evidenced(displayed, evidence=Evidence(read_files(read_here.get(), self.key_file)))


@dataclass(frozen=True, slots=True)
class AnswerOptions(EvidenceOptions):
    """Where an answer about people goes, in which form, which classes it names, and what it can be held to."""

    unmasked: Unmasked = False
    small: Small = SMALL

    def give(self, result: Result, *, holds_files: bool = False) -> None:
        """Write the answer to a file, print it as JSON, or show it, masked or marked; some hold their files themselves."""
        displayed = result.displayed(unmasked=self.unmasked, small=self.small)
        FormOptions.give(self, displayed if holds_files else self.evidenced(displayed))
