"""The facts about each mechanism, given at its registration, for the taxonomy and for users who have to choose.

- **Perturbative**: released values may be false; otherwise they are true, but fewer or coarser.
- **Drawn**: chance decides, so that two releases differ; otherwise the mechanism is deterministic (except for the order of
records).
- **Counters**: *identity* disclosure, whose record it is; *attribute* disclosure, what somebody's sensitive value is;
  *membership*, whether somebody is in the file at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["FACTS", "RECODINGS", "MechanismFacts"]

_NOTHING = "none: measure what it gives away"
_UNSTATED = "not stated"


@dataclass(frozen=True, slots=True)
class MechanismFacts:
    """The facts about one mechanism.

    Attributes
    ----------
    home
        The module that contains it.
    about
        Its effect, in a few words.
    family
        "masking" of existing records, "synthetic" records, "answers" to queries, or "pseudonyms".
    perturbative, drawn
        Whether released values may be false, and whether chance decides; None: not stated.
    data
        The types of attributes that it is suitable for.
    counters
        The kinds of disclosure that it counters.
    guarantee
        Its guarantee, and against whom.
    intruder
        What an intruder who has the software can still achieve, as measured, or as guaranteed.
    section
        The section of the thesis that describes it; "-" if there is none.
    page
        The page of the documentation; "-" if there is none.
    """

    home: str
    about: str
    family: str
    perturbative: bool | None
    drawn: bool | None
    data: str
    counters: str
    guarantee: str
    intruder: str
    section: str
    page: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as they are written to JSON."""
        return {name: value for name, value in asdict(self).items() if name != "home"}

    @classmethod
    def unstated(cls, mechanism: Callable[..., Any]) -> MechanismFacts:
        """Return what is known of a mechanism that was added without its facts: what its docstring says first."""
        about = " ".join((inspect.getdoc(mechanism) or _UNSTATED).partition("\n\n")[0].split()).rstrip(".")
        return cls(
            home=mechanism.__module__, about=about, family=_UNSTATED, perturbative=None, drawn=None, data=_UNSTATED,
            counters=_UNSTATED, guarantee=_UNSTATED, intruder=_UNSTATED, section="-", page="-",
        )  # fmt: skip


def _recoding(about: str, intruder: str, section: str, page: str) -> MechanismFacts:
    return MechanismFacts(
        home="unveil", about=about, family="masking", perturbative=False, drawn=False, data="any, by a hierarchy",
        counters="identity; attribute with l, t or beta", guarantee="the required models: k, l, t, ...", intruder=intruder,
        section=section, page=f"anonymise/{page}.md",
    )  # fmt: skip


RECODINGS: dict[str, MechanismFacts] = {
    "generalize": _recoding(
        "one level of its hierarchy for each column", "links 0.015 of people (k = 5)", "2.5.1", "full-domain"
    ),
    "mondrian": _recoding("near records share ranges", "links 0.150 of people (k = 5)", "-", "mondrian"),
    "recode_locally": _recoding(
        "only records that stand out become coarser", "links 0.158 of people (k = 5)", "2.5.1", "local-recoding"
    ),
    "generalize_subtrees": _recoding(
        "branches of a hierarchy become one value", "at most one in k, on average", "2.5.1", "subtrees"
    ),
    "suppress_locally": _recoding("single cells are emptied", "links 0.159 of people (k = 3)", "2.5.2", "local-suppression"),
}
"""Protections that are found by a search: the levels, ranges or cells with the least loss that meet the models."""

FACTS: dict[str, MechanismFacts] = {
    "add_noise": MechanismFacts(
        home="noise", about="adds or multiplies random numbers", family="masking",
        perturbative=True, drawn=True, data="numbers", counters="attribute, and identity by linkage",
        guarantee=_NOTHING, intruder="links 0.021 of people (half the variance)",
        section="2.6.1", page="mechanisms/noise.md",
    ),
    "microaggregate": MechanismFacts(
        home="microaggregation", about="groups of k records share one value", family="masking",
        perturbative=True, drawn=False, data="numbers; also orders and names", counters="identity",
        guarantee="k, over the attributes grouped together", intruder="links 0.187 of people (k = 5)",
        section="2.5.5", page="mechanisms/microaggregation.md",
    ),
    "rank_swap": MechanismFacts(
        home="swapping", about="values near in rank change places", family="masking",
        perturbative=True, drawn=True, data="numbers and orders", counters="attribute, and identity by linkage",
        guarantee=_NOTHING, intruder="links 0.025 of people (window 10 %)",
        section="2.6.2", page="mechanisms/swapping.md",
    ),
    "resample": MechanismFacts(
        home="resampling", about="values are drawn again from their own distribution", family="masking",
        perturbative=True, drawn=True, data="numbers", counters="attribute",
        guarantee=_NOTHING, intruder="links 0.882 of people: ranks stay",
        section="-", page="mechanisms/resampling.md",
    ),
    "round_values": MechanismFacts(
        home="rounding", about="values become multiples of a base", family="masking",
        perturbative=True, drawn=False, data="numbers", counters="identity",
        guarantee=_NOTHING, intruder="links 0.115 of people (at random)",
        section="2.6.4", page="mechanisms/rounding.md",
    ),
    "sample": MechanismFacts(
        home="sampling", about="only some records are released", family="masking",
        perturbative=False, drawn=True, data="any; best for names", counters="identity, by doubt about membership",
        guarantee=_NOTHING, intruder="links 0.998 of those who are in it (half)",
        section="2.6.3", page="mechanisms/sampling.md",
    ),
    "shuffle": MechanismFacts(
        home="shuffling", about="all values change places, ranks related as before", family="masking",
        perturbative=True, drawn=True, data="numbers and orders", counters="attribute, and identity by linkage",
        guarantee=_NOTHING, intruder="links 0.001 of people",
        section="-", page="mechanisms/swapping.md",
    ),
    "swap": MechanismFacts(
        home="swapping", about="values of some records change places", family="masking",
        perturbative=True, drawn=True, data="any", counters="attribute",
        guarantee=_NOTHING, intruder="links 0.499 of people (half swapped)",
        section="2.6.2", page="mechanisms/swapping.md",
    ),
    "swap_households": MechanismFacts(
        home="household_swapping", about="households at risk change places with others like them", family="masking",
        perturbative=True, drawn=True, data="places of households", counters="identity of those who stand out where they live",
        guarantee=_NOTHING, intruder="does not know which households moved",
        section="-", page="mechanisms/swapping.md",
    ),
    "top_bottom_code": MechanismFacts(
        home="top_bottom_coding", about="values beyond a limit become the limit", family="masking",
        perturbative=False, drawn=False, data="numbers and orders", counters="identity of the extreme",
        guarantee=_NOTHING, intruder="links 0.948 of people (5 % coded)",
        section="2.5.3", page="mechanisms/top-and-bottom-coding.md",
    ),
    "pram": MechanismFacts(
        home="post_randomisation", about="names change by known odds", family="masking",
        perturbative=True, drawn=True, data="names", counters="attribute, and identity by linkage",
        guarantee="the odds of a true answer, if stated", intruder="links 0.081 of people (retention 0.7)",
        section="2.6.5", page="mechanisms/pram.md",
    ),
    "anatomize": MechanismFacts(
        home="anatomy", about="keys and sensitive values in two tables, joined by groups", family="masking",
        perturbative=False, drawn=True, data="names as sensitive values", counters="attribute",
        guarantee="nobody's sensitive value is known with more than 1/l",
        intruder="assigns 0.270 of sensitive values right (l = 4; by chance 0.25)",
        section="2.5.4", page="mechanisms/anatomy.md",
    ),
    "dp_count": MechanismFacts(
        home="differential_privacy.queries", about="a count with noise", family="answers",
        perturbative=True, drawn=True, data="any", counters="membership, and all that follows",
        guarantee="epsilon, per record or person", intruder="the stated epsilon",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
    "dp_sum": MechanismFacts(
        home="differential_privacy.queries", about="a sum with noise", family="answers",
        perturbative=True, drawn=True, data="numbers with bounds", counters="membership, and all that follows",
        guarantee="epsilon, per record or person", intruder="the stated epsilon",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
    "dp_mean": MechanismFacts(
        home="differential_privacy.queries", about="a mean with noise", family="answers",
        perturbative=True, drawn=True, data="numbers with bounds", counters="membership, and all that follows",
        guarantee="epsilon, per record or person", intruder="the stated epsilon",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
    "dp_histogram": MechanismFacts(
        home="differential_privacy.queries", about="counts of all values with noise", family="answers",
        perturbative=True, drawn=True, data="names", counters="membership, and all that follows",
        guarantee="epsilon, per record or person", intruder="the stated epsilon",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
    "dp_marginals": MechanismFacts(
        home="differential_privacy.marginals", about="count tables with noise", family="answers",
        perturbative=True, drawn=True, data="names", counters="membership, and all that follows",
        guarantee="epsilon, per record or person", intruder="the stated epsilon",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
    "dp_synthesize": MechanismFacts(
        home="differential_privacy.microdata", about="records drawn from noisy count tables", family="synthetic",
        perturbative=True, drawn=True, data="any, with domains", counters="membership, and all that follows",
        guarantee="epsilon and delta, per record or person", intruder="the stated epsilon and delta",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
    "generalize_sets": MechanismFacts(
        home="sets", about="items of sets become coarser, or are left out", family="masking",
        perturbative=False, drawn=False, data="sets of items", counters="identity",
        guarantee="k records hold any m items of a record", intruder="one of k, if no more than m items are known",
        section="-", page="mechanisms/sets.md",
    ),
    "redact_text": MechanismFacts(
        home="redaction", about="names, addresses, numbers in texts become their kind", family="masking",
        perturbative=False, drawn=False, data="free text", counters="direct identification",
        guarantee=_NOTHING, intruder="what is said in other words, and rare words, remain",
        section="-", page="mechanisms/redaction.md",
    ),
    "pseudonymize": MechanismFacts(
        home="pseudonyms", about="names become keyed hashes or numbers", family="pseudonyms",
        perturbative=True, drawn=True, data="names of people", counters="direct identification",
        guarantee="nobody without the key recomputes them", intruder="frequencies, and all other columns, remain",
        section="1.3.2", page="mechanisms/pseudonymisation.md",
    ),
    "synthesize": MechanismFacts(
        home="synthesis", about="records of people who do not exist, from trees", family="synthetic",
        perturbative=True, drawn=True, data="any", counters="identity and attribute",
        guarantee=_NOTHING, intruder="no promise; copies of uniques are compared with a hold-out",
        section="2.6.7", page="mechanisms/synthetic-data.md",
    ),
    "massc": MechanismFacts(
        home="agglomeration", about="substitutes and samples the few who stand out", family="masking",
        perturbative=True, drawn=True, data="names", counters="identity",
        guarantee="a stated bound on expected risk", intruder="links 0.468 of people (risk 0.1)",
        section="2.6.6", page="mechanisms/massc.md",
    ),
    "safepub": MechanismFacts(
        home="differential_privacy.safety", about="a random sample, generalised", family="masking",
        perturbative=False, drawn=True, data="any, by a hierarchy", counters="membership, and all that follows",
        guarantee="epsilon and delta, per record", intruder="the stated epsilon and delta",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
    "dp_microaggregate": MechanismFacts(
        home="differential_privacy.centroids", about="groups share a mean with noise", family="masking",
        perturbative=True, drawn=True, data="numbers with bounds", counters="membership, and all that follows",
        guarantee="epsilon, for the attributes treated", intruder="the stated epsilon",
        section="3.3.2", page="mechanisms/differential-privacy.md",
    ),
}  # fmt: skip
"""The mechanisms: each is registered here once, with its home and its facts."""
