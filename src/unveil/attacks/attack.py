"""How much does an intruder gain from a release? Every attack that the inputs allow, on one scale from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unveil import __version__
from unveil.attacks import disclosure, identity
from unveil.attacks.linking import linkage
from unveil.attacks.pairs import setting_of
from unveil.attacks.view import view_of
from unveil.attributes import Names
from unveil.counts import count_table
from unveil.errors import ArgumentError, EmptyDataError
from unveil.measures.equivalence import suppressed_cells
from unveil.measures.rates import columns_of, mean
from unveil.partitions import Hierarchy, Partition
from unveil.results import Made, Result, View
from unveil.results.numbers import number
from unveil.sources import CodedTable, Data, load
from unveil.sources.alignment import Alignment, align

__all__ = ["Attack", "attack"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attack(Result):
    """What each attack gains, as plain values.

    Attributes
    ----------
    identity, homogeneity, background, skewness, similarity, linkage
        One section an attack; a section that the inputs do not allow is a null with the reason.
    overall
        Risk per attack (the mean over attributes), information loss (1 - risk), and the overall information loss.
    alignment
        How records were aligned; None where they were not.
    suppressed
        Records of the release without any key value; they are kept and refine nothing.
    made
        How the result was made.
    """

    identity: Mapping[str, Any]
    homogeneity: Mapping[str, Any]
    background: Mapping[str, Any]
    skewness: Mapping[str, Any]
    similarity: Mapping[str, Any]
    linkage: Mapping[str, Any]
    overall: Mapping[str, Any]
    alignment: Alignment | None
    suppressed: int
    made: Made

    def __repr__(self) -> str:
        """Return one line: the risk of each attack."""
        risks = ", ".join(f"{name} {number(risk)}" for name, risk in self.overall["risk"].items() if risk is not None)
        return f"Attack({risks})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "identity": dict(self.identity),
            "homogeneity": dict(self.homogeneity),
            "background": dict(self.background),
            "skewness": dict(self.skewness),
            "similarity": dict(self.similarity),
            "linkage": dict(self.linkage),
            "global": dict(self.overall),
            "alignment": None if self.alignment is None else self.alignment.to_dict(),
            "records": self.made.records,
            "suppressed": self.suppressed,
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row an attack and attribute: what is attacked, through what, and the rate."""
        rows = [("identity", e["attribute"], e["release"], e["value"]) for e in self.identity["white_box"]["by_attribute"]]
        for attack_name, section in (
            ("homogeneity", self.homogeneity),
            *((f"similarity {m}", s) for m, s in self.similarity.items()),
        ):
            for secret, entry in section.get("by_sensitive", {}).items():
                rows.append((attack_name, secret, " + ".join(self.made.key), entry["value"]))
                rows += [(attack_name, secret, e["release"], e["value"]) for e in entry["by_attribute"]]
        names = ("attack", "attribute", "given", "rate")
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}

    def view(self) -> View:
        """Return what a person should see."""
        return view_of(self)


def attack(  # noqa: PLR0913 - the one call that makes every attack
    original: Data,
    release: Data,
    key: Names | None = None,
    sensitive: Names | None = None,
    *,
    mapping: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    id: str | None = None,  # noqa: A002 - the word of the command line
    link: Data | None = None,
    same_order: bool = False,
    partitions: Mapping[str, Mapping[str, Any]] | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    external: Data | None = None,
    control: Data | None = None,
    nulls: str = "category",
    link_records: bool = True,
    seed: int = 0,
) -> Attack:
    """Attack a release as an intruder would, and say how much each attack gains.

    Parameters
    ----------
    original, release
        Paths, names of built-in data sets, or data frames. Never changed.
    key
        The key attributes; none: those of the map, or without a map every column in common that is not sensitive.
    sensitive
        The sensitive attributes of the release.
    mapping
        Which protected column stands for which original one, such as ``{"Age": "Age*"}``; others are paired by name.
    id, link, same_order
        How to know which record is which: a column of both, a correspondence file, or the row order. Without one of
        these, attacks that need it are not made.
    partitions
        The attacker's models by name, each with semantic partitions by column: ``{"kinds": {"Disease": [[...], [...]]}}``.
    hierarchies
        What a released value of an original column covers, for linkage (intervals, masked codes and sets are read as they are).
    external
        Other data with some key attributes in common, for the grey box.
    control
        People like those of the original who are certainly not in the release, under the original's column names. Each distance
        linkage then says, beside its baseline, how often it takes one of them for a release record's person: a rate that
        owes nothing to the release.
    nulls
        "category", "drop" or "error".
    link_records
        Whether to link records (it takes longest on large tables).
    seed
        The seed of what is drawn at random.

    Returns
    -------
    Attack
        Identity, homogeneity, background knowledge, skewness, similarity, linkage, and the global figures.

    Examples
    --------
    >>> import unveil
    >>> found = unveil.attack("thesis-4.2", "thesis-4.3", sensitive=["location 1", "location 2"],
    ...                       mapping={"ZIP": "ZIP*", "Age": "Age*"})
    >>> found
    Attack(identity 0.5776, homogeneity 0.4619)
    >>> round(found.overall["overall_information_loss"], 4)
    0.4803
    """
    if control is not None and not link_records:
        raise ArgumentError("a control measures linkage, which is not asked for; leave it out or link the records.")
    alignment = align(original, release, identity=id, link=link, same_order=same_order)
    setting = setting_of(
        original, release, key=key, sensitive=sensitive, mapping=mapping, identity=id, alignment=alignment, nulls=nulls
    )
    table = load(setting.release, [*setting.keys, *setting.sensitive], nulls=nulls)
    suppressed = _suppressed(table, setting.keys)
    classes = disclosure.classes_of(table, setting.keys, setting.sensitive)
    models = _models(partitions, (*setting.keys, *setting.sensitive))
    by_identity: dict[str, Any] = {
        "white_box": identity.white_box(setting),
        "black_box": identity.black_box(table, setting.keys),
        "grey_box": None if external is None else identity.grey_box(setting, external),
    }
    by_homogeneity = disclosure.homogeneity(table, setting.keys, setting.sensitive, classes)
    made = Made(table.records, nulls, table.dropped, setting.keys, setting.sensitive, seed=seed, version=__version__)
    return Attack(
        identity=by_identity,
        homogeneity=by_homogeneity,
        background=disclosure.background(by_homogeneity, classes),
        skewness=disclosure.skewness(setting, table, classes),
        similarity=disclosure.similarity(table, setting.keys, setting.sensitive, models),
        linkage=linkage(setting, hierarchies or {}, seed, control) if link_records else {"reason": "not asked for"},
        overall=_overall(by_identity["white_box"]["risk"], by_homogeneity["risk"] if setting.sensitive else None),
        alignment=alignment,
        suppressed=suppressed,
        made=made,
    )


def _overall(by_identity: float | None, by_homogeneity: float | None) -> dict[str, Any]:
    """Return risk and information loss of the attacks that have one, and the mean loss."""
    risk = {"identity": by_identity, "homogeneity": by_homogeneity}
    loss = {name: None if value is None else 1.0 - value for name, value in risk.items()}
    return {"risk": risk, "information_loss": loss, "overall_information_loss": mean(list(loss.values()))}


def _suppressed(table: CodedTable, keys: Sequence[str]) -> int:
    """Count the release's records without any key value; a release of nothing else cannot be attacked."""
    counts = count_table(columns_of(table, keys))
    gone = int(counts.n[suppressed_cells(counts, keys)].sum())
    if gone == table.records:
        raise EmptyDataError(f"all {gone:,} records of the release are suppressed in every key attribute: nothing to attack.")
    return gone


def _models(partitions: Mapping[str, Mapping[str, Any]] | None, columns: Sequence[str]) -> dict[str, dict[str, Partition]]:
    """Return the attacker's models, refusing a partition of a column that is not measured."""
    found: dict[str, dict[str, Partition]] = {}
    for model, blocks in (partitions or {}).items():
        for column in blocks:
            if column not in columns:
                raise ArgumentError(f"the partition {model!r} is about column {column!r}, which is not among those measured.")
        found[model] = {column: Partition.of(spec, column=column) for column, spec in blocks.items()}
    return found
