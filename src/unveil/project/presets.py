"""Presets: policies known by name, each with its source, and notes on what the source states and what it leaves open.

No threshold here is our own. If a source states none, the rule has none: its figure is reported and the decision is left to
you.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unveil.project.rules import Rule

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True, slots=True)
class Preset:
    """A policy stated by others.

    Attributes
    ----------
    name, title
        Its name here, and its title.
    source
        The document.
    says, silent
        What the source states, and what it leaves open.
    rules
        The rules.
    """

    name: str
    title: str
    source: str
    says: str
    silent: str
    rules: tuple[Rule, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the texts as they are written to JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "source": self.source,
            "says": self.says,
            "does_not_say": self.silent,
        }


_PRECEDENTS = (
    "El Emam (2013), Guide to the De-Identification of Personal Health Information, CRC Press, chapter on cell size precedents"
)
_CELLS = (
    "It is about the cells of published tables; here every class of records with the same key is checked against it. It says "
    "nothing about sensitive values that a whole class shares."
)


def _cell_size(size: int, says: str, source: str = _PRECEDENTS) -> Preset:
    title = f"every class holds at least {size} records"
    return Preset(f"cell-size-{size}", title, source, says, _CELLS, (Rule("k_anonymity", size),))


_SINGLING, _LINKING, _INFERRING = "singling out", "linkability", "inference"

_PRESETS = (
    _cell_size(3, "Some custodians take 3 as the smallest cell, a risk of 1 in 3 for each record."),
    _cell_size(5, "The most common precedent: cells of at least 5, a risk of 1 in 5 for each record."),
    _cell_size(
        11,
        "No cell of 1 to 10 may be shown, or be derivable from what is shown.",
        "Centers for Medicare & Medicaid Services, cell size suppression policy (in its data use agreements)",
    ),
    _cell_size(20, "Cells of at least 20 have been required of patient data open to the public in Canada and the United States."),
    Preset(
        "max-risk-0.09",
        "the highest risk of a record is at most 0.09",
        "European Medicines Agency, External guidance on Policy 0070 (EMA/90915/2016); Health Canada, Public Release of Clinical "
        "Information guidance (2019)",
        "For clinical reports open to the public, the threshold is 0.09 unless another is justified.",
        "It does not fix the key, nor how risk is measured. 0.09 is 1 in 11 rounded down: a class of 11 has a risk of 0.0909, so "
        "this rule asks for 12; cell-size-11 asks for 11.",
        (Rule("prosecutor_highest", 0.09),),
    ),
    Preset(
        "wp216",
        "the three questions of the European working party",
        "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216), section 3",
        "Can a person still be singled out? Can records about a person be linked? Can something be inferred about a person?",
        "It gives no measure and no threshold. The measures are this software's choice; the thresholds are yours to set.",
        (
            Rule("sample_uniqueness", question=_SINGLING),
            Rule("prosecutor_highest", question=_SINGLING),
            Rule("discrimination_rate", question=_SINGLING),
            Rule("linkage", question=_LINKING),
            Rule("certain_disclosure", question=_INFERRING),
            Rule("t_closeness", question=_INFERRING),
            Rule("discrimination_rate", None, {"sensitive": True, "adjusted": True}, _INFERRING),
        ),
    ),
    Preset(
        "wp216-synthetic",
        "the three questions, of synthetic data beside a hold-out",
        "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216), section 3",
        "Can a person still be singled out? Can records about a person be linked? Can something be inferred about a person?",
        "It gives no measure and no threshold. The measures are attacks on the release beyond their success on people who took "
        "no part (Giomi et al. 2023); it needs the original and a hold-out. The thresholds are yours to set.",
        (
            Rule("singling_out", question=_SINGLING),
            Rule("linkability", question=_LINKING),
            Rule("inference", question=_INFERRING),
            Rule("membership"),
        ),
    ),
    Preset(
        "hipaa-safe-harbor",
        "the 18 identifiers of the US Safe Harbor rule are absent",
        "45 CFR 164.514(b)(2)(i)(A) to (R); US Department of Health and Human Services, guidance on de-identification (2012)",
        "18 kinds of identifiers of the person, relatives, employers and household members are removed.",
        "It asks for no measure of combinations. It also asks, in (b)(2)(ii), that you do not know of a way to identify someone "
        "from what is left: no software can tell. What is not recognised here may still be there.",
        (Rule("safe_harbor", 0),),
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in _PRESETS}
"""The presets by name."""
