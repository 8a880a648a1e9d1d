"""How much does an intruder gain from a release? Every attack that the inputs allow, on one scale from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from unveil import __version__
from unveil.arguments import checked_arguments, checked_seed
from unveil.attacks import disclosure, identity
from unveil.attacks.attack_sections import (
    Background,
    Homogeneity,
    IdentityAttack,
    Overall,
    OverallByModel,
    SimilarityModel,
    Skewness,
    WhiteBox,
    WhiteBoxMeaning,
)
from unveil.attacks.attack_view import view_of
from unveil.attacks.linkage.known_method import KnownMethod
from unveil.attacks.linkage.linkage_sections import RecordLinkage
from unveil.attacks.linking import linkage
from unveil.attacks.synthetic.audit import audited
from unveil.attacks.synthetic.audit_sections import RISKS, SyntheticAudit
from unveil.attributes import Names
from unveil.counts import Counts, count_table
from unveil.errors import ArgumentError, ColumnNotFoundError, EmptyDataError, listed, shown
from unveil.formats import counted, number
from unveil.measures import mean, suppressed_cells
from unveil.measures.equivalence import equivalence
from unveil.partitions import Hierarchy, Partition
from unveil.results import MASK, SMALL, Provenance, Result, View, masked_parts, plain
from unveil.run import Progress, active_run, in_run
from unveil.sources import Alignment, Data, open_beside
from unveil.study import Pair, paired, require_as_they_are

__all__ = ["Attack", "attack", "planned_attackers"]

_ATTACKS = 5
"""Identity, homogeneity, background knowledge, skewness and similarity; linkage has stages of its own."""
_NO_HOLDOUT = (
    "without a hold-out (similar people whose records were not used), what the release reveals about its own people cannot be "
    "told from what holds for everybody; give one as the control"
)
_KNOWN_RECORDS = "the correspondence of the records is known; linkage measures such a release"
_FORM = 'they are given by name, and under it by column: {"kinds": {"disease": [[...], [...]]}}.'


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attack(Result):
    """The gains of each attack, as plain values.

    Attributes
    ----------
    identity, homogeneity, background, skewness, similarity, linkage
        One section per attack; None, with the reason, for a section that the inputs do not allow.
    synthetic
        The attacks on a synthetic release, with a control and without an alignment: the Discrimination Rate of the sensitive
        values given those inferred from the release, singling out, linkability, inference, membership, copies, and the distance
        to the closest record.
    overall
        Risk per attack (the mean over attributes), information loss (1 - risk), and the overall information loss; the same
        `by_model`, with values read by an attacker's partitions.
    alignment
        How records were aligned; None if they were not.
    suppressed
        The number of released records without any key value. They form one class in the rates, and are not counted as unique or
        certainly disclosed, or as a class in which belief shifts.
    made
        The provenance of the result.
    """

    identity: IdentityAttack
    homogeneity: Homogeneity
    background: Background
    skewness: Skewness
    similarity: Mapping[str, SimilarityModel]
    linkage: RecordLinkage
    synthetic: SyntheticAudit
    overall: Overall
    alignment: Alignment | None
    suppressed: int
    made: Provenance

    def __repr__(self) -> str:
        """Return one line: the risk of each attack."""
        risks = ", ".join(f"{name} {number(risk)}" for name, risk in self.overall["risk"].items() if risk is not None)
        return f"Attack({risks})"

    def to_dict(self) -> dict[str, Any]:
        """Return the whole answer as plain Python values."""
        return {
            "identity": self.identity.to_dict(),
            "homogeneity": self.homogeneity.to_dict(),
            "background": self.background.to_dict(),
            "skewness": self.skewness.to_dict(),
            "similarity": plain(self.similarity),
            "linkage": self.linkage.to_dict(),
            **self.synthetic.to_dict(),
            "global": self.overall.to_dict(),
            "alignment": None if self.alignment is None else self.alignment.to_dict(),
            "records": self.made.records,
            "suppressed": self.suppressed,
            "made": self.made.to_dict(),
        }

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return one row per attack and attribute: the target, the means, and the attack's figure.

        The figure is the Discrimination Rate; for background knowledge its complement, for skewness the rate in the original
        minus that in the release, for linkage the share linked (for interval disclosure: disclosed), and for attacks on
        synthetic data the risk. The target is null if it is the record's identity.
        """
        rows = [("identity", e["attribute"], e["release"], e["value"]) for e in self.identity["white_box"]["by_attribute"]]
        black, key = self.identity["black_box"], " + ".join(self.made.key)
        rows += _rows("identity, black box", None, key, black, "value")
        for name, section, figure in (
            ("homogeneity", self.homogeneity, "value"),
            ("background", self.background, "missing"),
            ("skewness", self.skewness, "difference"),
            *((f"similarity {model}", section, "value") for model, section in self.similarity.items()),
        ):
            for sensitive, entry in section["by_sensitive"].items():
                rows += _rows(name, sensitive, key, entry, figure)
        ways = {way: entry for way, entry in self.linkage.items() if isinstance(entry, Mapping)}
        rows += [(f"linkage, {way}", None, key, entry.get("linked", entry.get("value"))) for way, entry in ways.items()]
        rows += [(name.replace("_", " "), None, key, self.synthetic[name]["risk"]) for name in RISKS]
        names = ("attack", "attribute", "given", "figure")
        return {name: [row[at] for row in rows] for at, name in enumerate(names)}

    def masked(self, small: int = SMALL) -> Attack:
        """Return the answer without the values of fewer than `small` records, and of classes that disclose."""
        sections = ("identity", "homogeneity", "background", "skewness", "similarity", "linkage", "synthetic")
        masked, hidden = masked_parts({name: getattr(self, name) for name in sections}, small)
        by_sensitive = {
            name: replace(entry, belief=replace(entry.belief, value=MASK))
            if (entry.belief.worst_class is not None and entry.belief.worst_class.masked)
            or (entry.belief.value,) in hidden.get((name,), ())
            else entry
            for name, entry in masked["skewness"].by_sensitive.items()
        }
        return replace(self, **{**masked, "skewness": replace(masked["skewness"], by_sensitive=by_sensitive)})

    def view(self) -> View:
        """Return the displayed answer."""
        return view_of(self)


@checked_arguments
@in_run
def attack(  # noqa: PLR0913 - the one call that makes every attack
    original: Data,
    release: Data | None = None,
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
    method: Mapping[str, Any] | None = None,
    nulls: str | None = None,
    person: str | None = None,
    missing_is_sensitive: bool | None = None,
    link_records: bool = True,
    seed: int = 0,
    progress: Progress | None = None,  # noqa: ARG001 - `in_run` takes it
) -> Attack:
    """Attack a release as an intruder would, and measure the gain of each attack.

    Parameters
    ----------
    original, release
        Paths, names of built-in data sets, data frames, tables in an engine, studies or project files; or a `Pair` of both.
        Never changed.
    key
        The key attributes; none: those of the studies, else those of the map, or without a map every common column that is not
        sensitive and that no study declares as identifier, weight, person or household.
    sensitive
        The sensitive attributes of the release; none: those of the studies.
    mapping
        The protected column for an original one, such as ``{"Age": "Age*"}``; others are paired by name.
    id, link, same_order
        The correspondence of the records: a column of both, a correspondence file, or the row order. Without one of these,
        attacks that need it are not made.
    partitions
        The attacker's models by name, each with semantic partitions by column: ``{"kinds": {"Disease": [[...], [...]]}}``. A
        column is one of the release, or an original one that is mapped. Similarity and the white box are measured on blocks, so
        that values that only the release holds, for instance because of noise, are compared with the original ones. None: the
        project's partitions of its sensitive columns, and those of a study, as the model "partitions".
    hierarchies
        The coverage of released values of an original column, for linkage and the grey box (intervals, masked codes and sets
        need no hierarchy).
    external
        Other data with some key attributes in common, for the grey box. If it has none but holds the column `id`, it is linked
        by its structure alone (see `structure_linkage`).
    control
        People like those of the original whose records were not used, under the original's column names (a hold-out). If the
        correspondence of records is known, each distance linkage reports, beside its baseline, how often it mistakes one of
        them for a released record's person. If not, the release is treated as synthetic data: singling out, linkability,
        inference and membership are attacked, each compared with its success on these people.
    method
        How the release was made, as far as an intruder knows: its `mechanism` ("rank_swap", "add_noise", "pram" or
        "microaggregate"), the settings (`window`; `amount` and `method`; `retention` or `matrix`; `k`, `method` and
        `together`), and the `attributes` that it treated (none: all). Records are then also linked by likelihood.
        `attacks.minimality` measures what a generalisation reveals by being minimal.
    nulls
        "category" (the default), "drop" or "error".
    person
        The column of persons, who own the records: those who are unique, certainly disclosed or linked are then counted in
        persons. The release does not need it if the correspondence of records is known.
    missing_is_sensitive
        Whether a missing sensitive value is itself sensitive. If not, a class in which nobody has a value discloses nothing for
        certain, and its records are counted separately. None: for the attributes for which the project states so.
    link_records
        Whether to link records (the slowest part on large tables).
    seed
        The seed of all random draws.
    progress
        A run, or a function called with the name of a stage, the number of steps done, and the number of all steps.

    Returns
    -------
    Attack
        Identity, homogeneity, background knowledge, skewness, similarity, linkage, the attacks on synthetic data, and the
        global figures.

    Examples
    --------
    >>> import unveil
    >>> attack = unveil.attack("thesis-4.2", "thesis-4.3", sensitive=["location 1", "location 2"],
    ...                       mapping={"ZIP": "ZIP*", "Age": "Age*"})
    >>> attack
    Attack(identity 0.5776, homogeneity 0.4619)
    >>> round(attack.overall["overall_information_loss"], 4)
    0.4803
    """
    checked_seed(seed)
    options = {
        "mapping": mapping,
        "id": id,
        "link": link,
        "same_order": same_order,
        "hierarchies": hierarchies,
        "nulls": nulls,
    }
    with paired(original, release, key=key, sensitive=sensitive, person=person, **options) as pair:
        if control is not None and not link_records and pair.alignment is not None:
            raise ArgumentError("a control measures linkage, which is not requested; leave it out, or link the records.")
        if control is not None:
            require_as_they_are(control, [*pair.originals, *pair.originals.values()])
        known = None if method is None else KnownMethod.of(method)
        if known is not None and (pair.alignment is None or not link_records):
            raise ArgumentError("a known method is used to link records; name their correspondence, and let them be linked.")
        _check_hierarchies(hierarchies or {}, pair)
        models = _models(planned_attackers(pair) if partitions is None else partitions, pair)
        others = _Others(external, control, known, seed, link_records=link_records, missing_is_sensitive=missing_is_sensitive)
        return attacked(pair, models, others)


@dataclass(frozen=True, slots=True)
class _Others:
    """The inputs of an attack besides the two tables: other data, people outside the release, and how the release was made."""

    external: Data | None = None
    control: Data | None = None
    method: KnownMethod | None = None
    seed: int = 0
    link_records: bool = True
    missing_is_sensitive: bool | None = None

    def sensitive_gaps(self, pair: Pair) -> tuple[str, ...]:
        """Return the sensitive attributes for which a missing value is itself sensitive."""
        if self.missing_is_sensitive is not None:
            return pair.sensitive if self.missing_is_sensitive else ()
        stated = pair.release.missing_is_sensitive, pair.original.missing_is_sensitive
        return tuple(name for name in pair.sensitive if name in stated[0] or pair.originals.get(name) in stated[1])


def attacked(pair: Pair, models: Mapping[str, Mapping[str, Partition]], others: _Others) -> Attack:
    """Make every attack on a pair."""
    columns = [*pair.keys, *pair.sensitive]
    table, (owned, person) = pair.release.table(columns), pair.owned(columns)
    counts = pair.release.counts(columns, partitions={})
    suppressed = _suppressed(counts, pair.keys)
    classes = equivalence(counts if person is None else count_table(owned), pair.keys, pair.sensitive, person=person)
    news = identity.new_values(pair)
    made_one = active_run().counting("attacks", _ATTACKS)
    by_identity = IdentityAttack(
        white_box=identity.white_box(pair, news, models),
        black_box=identity.black_box(table, pair.keys, classes),
        grey_box=None if others.external is None else identity.grey_box(pair, others.external, others.seed),
        known=identity.known_records(pair),
    )
    made_one()
    by_homogeneity = disclosure.homogeneity(table, pair.keys, pair.sensitive, classes, others.sensitive_gaps(pair))
    made_one()
    by_background = disclosure.background(by_homogeneity, classes)
    made_one()
    by_skewness = disclosure.skewness(pair, by_homogeneity, classes, news)
    made_one()
    by_similarity = disclosure.similarity(table, pair.keys, pair.sensitive, models)
    made_one()
    synthetic = _synthetic(pair, others)
    return Attack(
        identity=by_identity,
        homogeneity=by_homogeneity,
        background=by_background,
        skewness=by_skewness,
        similarity=by_similarity,
        linkage=_linked(pair, others),
        synthetic=synthetic,
        overall=Overall(
            _overall(_risks(pair, by_identity.white_box, by_homogeneity, synthetic)),
            _by_model(by_identity.white_box.by_model, by_similarity),
        ),
        alignment=pair.alignment,
        suppressed=suppressed,
        made=Provenance(
            records=table.records,
            nulls=pair.nulls,
            dropped=table.dropped,
            key=pair.keys,
            sensitive=pair.sensitive,
            person=None if person is None else pair.release.person or pair.original.person,
            seed=others.seed,
            version=__version__,
        ),
    )


def _linked(pair: Pair, others: _Others) -> RecordLinkage:
    if not others.link_records:
        return RecordLinkage(reason="not requested")
    return linkage(pair, others.seed, others.control, others.method)


def _synthetic(pair: Pair, others: _Others) -> SyntheticAudit:
    """Attack a release without a known correspondence as synthetic data, if there is a hold-out to compare it with."""
    if pair.alignment is not None:
        return SyntheticAudit.without(_KNOWN_RECORDS)
    if others.control is None:
        return SyntheticAudit.without(_NO_HOLDOUT)
    return audited(pair, open_beside(others.control, pair.original.project), others.seed)


def _risks(pair: Pair, box: WhiteBox, homogeneity: Homogeneity, synthetic: SyntheticAudit) -> dict[str, float | None]:
    """Return the risk of each attack that has one.

    For synthetic data it is what the release adds compared with a hold-out; how far its own records reveal its own sensitive
    values is no risk to anybody as long as the records cannot be attributed to people.
    """
    if synthetic.control is not None:
        return {
            "discrimination_rate": synthetic["discrimination_rate"]["value"],
            **{name: synthetic[name]["risk"] for name in RISKS},
        }
    return {"identity": box.risk, "homogeneity": homogeneity.risk if pair.sensitive else None}


def _overall(risk: Mapping[str, float | None]) -> OverallByModel:
    """Return the risk and information loss of the attacks that have one, and the mean loss."""
    loss = {name: None if value is None else 1.0 - value for name, value in risk.items()}
    return OverallByModel(dict(risk), loss, mean(list(loss.values())))


def _by_model(boxes: Mapping[str, WhiteBoxMeaning], similarity: Mapping[str, SimilarityModel]) -> dict[str, OverallByModel]:
    """Return the global figures as each attacker's model reads the values: identity by its blocks, and similarity."""
    return {
        model: _overall({"identity": boxes[model].risk if model in boxes else None, "homogeneity": section.risk})
        for model, section in similarity.items()
    }


def _suppressed(counts: Counts, keys: Sequence[str]) -> int:
    """Count the released records without any key value; refuse a release that consists only of them."""
    gone = int(counts.n[suppressed_cells(counts, keys)].sum())
    if gone == counts.records:
        raise EmptyDataError(
            f"all {gone:,} records of the release are suppressed in every key attribute: there is nothing to attack."
        )
    return gone


def _rows(name: str, attribute: str | None, key: str, entry: Mapping[str, Any], figure: str) -> list[tuple[Any, ...]]:
    """Return the rows of one attack on one attribute: by the whole key, and by each attribute if there are several."""
    parts = entry.get("by_attribute", ())
    alone = [(name, attribute, part["release"], part[figure]) for part in parts] if len(parts) > 1 else []
    return [(name, attribute, key, entry[figure]), *alone]


def planned_attackers(pair: Pair) -> dict[str, dict[str, Partition]]:
    """Return the attacker's models that studies name: the project's partitions of sensitive columns, and the studies' own."""
    models: dict[str, dict[str, Partition]] = {}
    for name, blocks in chain(pair.release.views.items(), pair.original.views.items()):
        known = {column: block for column, block in blocks.items() if column in pair.sensitive}
        if known:
            models[name] = {**models.get(name, {}), **known}
    measured = _measured(pair)
    if own := pair.original.blocks(measured) | pair.release.blocks(measured):
        models["partitions"] = own
    return models


def _measured(pair: Pair) -> tuple[str, ...]:
    """Return the columns to which an attacker's model may apply."""
    return tuple(dict.fromkeys([*pair.keys, *pair.sensitive, *(one.original for one in pair.columns)]))


def _models(partitions: Mapping[str, Mapping[str, Any]] | None, pair: Pair) -> dict[str, dict[str, Partition]]:
    """Return the attacker's models; their contents are never shown, because in the wrong form they could be data."""
    measured = _measured(pair)
    models: dict[str, dict[str, Partition]] = {}
    for model, blocks in (partitions or {}).items():
        if strange := sum(column not in measured for column in blocks):
            raise ArgumentError(
                f"the partition {shown(model)} is about {counted(strange, 'column')} not among those measured: {listed(measured)}"
                f"; {_FORM}"
            )
        models[model] = {column: Partition.of(spec, column=column) for column, spec in blocks.items()}
    return models


def _check_hierarchies(hierarchies: Mapping[str, Hierarchy], pair: Pair) -> None:
    """Refuse a hierarchy of a column that does not exist, or one that lacks values of its column."""
    for column in hierarchies:
        if column not in pair.original.names:
            raise ColumnNotFoundError(f"a hierarchy: {ColumnNotFoundError.among(column, pair.original.names)}")
    for column in dict.fromkeys(one.original for one in pair.columns if one.original in pair.original.names):
        if (hierarchy := pair.hierarchies.get(column)) is not None:
            hierarchy.check_covers(pair.original.counts([column], nulls="category", partitions={}).columns[0].values)
