"""Every attack on a synthetic release, with a hold-out: singling out, linkability, inference, membership, copies, distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unveil.attacks.synthetic.audit_sections import SECTIONS, HoldOut, SyntheticAudit
from unveil.attacks.synthetic.closeness import closest, copies
from unveil.attacks.synthetic.discrimination import discrimination
from unveil.attacks.synthetic.inference import guessed, inference
from unveil.attacks.synthetic.linkability import linkability
from unveil.attacks.synthetic.membership import membership
from unveil.attacks.synthetic.singling_out import singling_out
from unveil.attacks.synthetic.tables import Side, trio_of
from unveil.run import active_run
from unveil.sources import Source
from unveil.study import Pair

__all__ = ["audited"]

_ATTACKS = 2_000
"""The largest number of people and predicates that are attacked: the interval of a share is then at most 0.045 wide."""


def audited(pair: Pair, control: Source, seed: int) -> SyntheticAudit:
    """Make every attack on a synthetic release, compared with people whose records were not used for it."""
    trio = trio_of(pair, control)
    random = np.random.default_rng(seed)
    people, others = _some(trio.original, random), _some(trio.control, random)
    guesses = guessed(trio, people, others, random)
    attacks: dict[str, Callable[[], Any]] = {
        "discrimination_rate": lambda: discrimination(trio, people, others, guesses),
        "singling_out": lambda: singling_out(trio, _ATTACKS, random),
        "linkability": lambda: linkability(trio, people, others),
        "inference": lambda: inference(trio, people, others, guesses),
        "membership": lambda: membership(trio, random),
        "copies": lambda: copies(trio),
        "closest": lambda: closest(trio, random),
    }
    sections = {name: attacks[name]() for name in active_run().each("attacks on synthetic data", SECTIONS)}
    return SyntheticAudit(**sections, control=HoldOut(len(trio.control), trio.equal, trio.expected))


def _some(side: Side, random: np.random.Generator) -> Side:
    if len(side) <= _ATTACKS:
        return side
    return side.rows(np.sort(random.choice(len(side), _ATTACKS, replace=False)))
