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
    NullPolicy,
    Out,
    PartitionFile,
    Sensitive,
    Small,
    SpreadsheetSafe,
    Unmasked,
    Weights,
    give,
)

if TYPE_CHECKING:
    from unveil.results import Result
    from unveil.study import Study

__all__ = ["AnswerOptions", "FormOptions", "SourceOptions", "StudyOptions"]


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
class AnswerOptions(FormOptions):
    """Where an answer about people goes, in which form, and which classes it names."""

    unmasked: Unmasked = False
    small: Small = SMALL

    def give(self, result: Result) -> None:
        """Write the answer to a file, print it as JSON, or show it, masked or marked."""
        FormOptions.give(self, result.displayed(unmasked=self.unmasked, small=self.small))
