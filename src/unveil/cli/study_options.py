"""The groups of options that most verbs begin and end with: the data and its roles, and where the answer goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unveil.cli.options import (
    Data,
    Encoding,
    Identity,
    Inputs,
    Json,
    Key,
    Missing,
    NullPolicy,
    Out,
    PartitionFile,
    ProjectFile,
    Sensitive,
    Separator,
    SpreadsheetSafe,
    Weights,
    gather,
    give,
    one_sensitive,
)

if TYPE_CHECKING:
    from unveil.results import Result
    from unveil.study import Study

__all__ = ["AnswerOptions", "SourceOptions", "StudyOptions"]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Data without roles, and how it is read."""

    data: Data = None
    nulls: NullPolicy = None
    weights: Weights = None
    project: ProjectFile = None
    separator: Separator = None
    encoding: Encoding = None
    missing: Missing = None

    def gathered(self, *, partial: bool = False) -> Inputs:
        """Open the data as the command line and the project file say."""
        return gather(
            self.data, key=None, sensitive=None, partition=None, nulls=self.nulls, weights=self.weights, project=self.project,
            separator=self.separator, encoding=self.encoding, missing=self.missing, partial=partial,
        )  # fmt: skip


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
    project: ProjectFile = None
    separator: Separator = None
    encoding: Encoding = None
    missing: Missing = None

    def study(self, *, keyed: bool = False) -> Study:
        """Open the study; `keyed` refuses one without a key."""
        inputs = gather(
            self.data, key=self.key, sensitive=self.sensitive, partition=self.partition, nulls=self.nulls, weights=self.weights,
            project=self.project, separator=self.separator, encoding=self.encoding, missing=self.missing,
        )  # fmt: skip
        if keyed:
            inputs.required_key()
        return one_sensitive(inputs, self.sensitive, identity=self.identity)


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """Where the answer goes, and in which form."""

    as_json: Json = False
    out: Out = None
    spreadsheet_safe: SpreadsheetSafe = True

    def give(self, result: Result) -> None:
        """Write the answer to a file, print it as JSON, or show it."""
        give(result, as_json=self.as_json, out=self.out, spreadsheet_safe=self.spreadsheet_safe)
