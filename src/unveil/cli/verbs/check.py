"""The verb check: whether a release may be published."""

from __future__ import annotations

import typer

from unveil.cli.application import app
from unveil.cli.check_options import BeforeOptions, OriginalOptions, SignOptions, TrialOptions, VerdictOptions
from unveil.cli.groups import grouped
from unveil.cli.options import give, showing_progress


@app.command(epilog="Example: unveil check adult --policy cell-size-5 --key sex --key race")
@grouped
def check(
    trial: TrialOptions, original: OriginalOptions, before: BeforeOptions, signing: SignOptions, answer: VerdictOptions
) -> None:
    """May a release be published: does it meet a policy, and is it no riskier than before? Exit code 1: no, or undecided."""
    from unveil.assess.policy.check import check as check_release

    signing.check(answer.out)
    if (signature := signing.verified()) is not None:
        give(signature, as_json=answer.as_json, out=answer.out)
        raise typer.Exit(0 if signature.valid else 1)
    signer = signing.signer()
    inputs, policy = trial.gathered()
    paired = original.paired(trial, inputs)
    with showing_progress():
        verdict = check_release(inputs.study, policy, **trial.meanings(inputs), **before.arguments(), **paired)
        passes = verdict.passes
    answer.give(verdict, signer)
    if not passes:
        raise typer.Exit(1)
