"""The verb assess: the disclosure of a table as a whole, and the next steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from unveil.cli.application import app, grouped
from unveil.cli.model_options import SensitiveColumns
from unveil.cli.options import Data, Household, Key, NullPolicy, Person, Weights, showing_progress
from unveil.cli.study_options import AnswerOptions, Inputs, NamedRoles, ReadingOptions, attackers, gather


@dataclass(frozen=True, slots=True)
class _AssessedOptions:
    """The table, its roles, and the way in which it is read."""

    data: Data = None
    key: Key = None
    sensitive: SensitiveColumns = None
    nulls: NullPolicy = None
    weights: Weights = None
    person: Person = None
    household: Household = None
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    def gathered(self) -> Inputs:
        """Open the table."""
        roles = NamedRoles(
            self.key, self.sensitive, nulls=self.nulls, weights=self.weights, person=self.person, household=self.household
        )
        return gather(self.data, self.reading, roles)


@dataclass(frozen=True, slots=True)
class _ScopeOptions:
    """The extent of the assessment."""

    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="NAME:COLUMN=FILE", help="A named semantic partition of a sensitive column."),
    ] = None
    max_size: Annotated[
        int | None, typer.Option("--max-size", min=1, help="The largest sets of columns to look at; default: what time allows.")
    ] = None

    def arguments(self, inputs: Inputs, answer: AnswerOptions) -> dict[str, Any]:
        """Return the arguments of the call."""
        return {
            "partitions": attackers(self.partition, inputs.source.names),
            "max_size": self.max_size,
            "redact": not answer.unmasked,
            "small": answer.small,
            "key_file": answer.key_file,
        }


@app.command(epilog="Example: unveil assess adult --key age --key sex --key race --sensitive occupation --out report.html")
@grouped
def assess(table: _AssessedOptions, scope: _ScopeOptions, answer: AnswerOptions) -> None:
    """Ask everything at once: what identifies, what discloses, which risks there are, where they come from, what to do next."""
    from unveil.assess import assess as assess_table

    inputs = table.gathered()
    with showing_progress():
        result = assess_table(inputs.study, **scope.arguments(inputs, answer))
    answer.give(result, holds_files=True)
