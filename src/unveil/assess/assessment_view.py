"""The view of an assessment: the next steps, then identification, disclosure, and the origins of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unveil.assess.evidence import file_table
from unveil.formats import counted, noun, number
from unveil.models import view_of as measured_view
from unveil.results import Chart, Figure, Table, View, masking_in_words

if TYPE_CHECKING:
    from unveil.assess.assessment import Assessment
    from unveil.assess.rates import AttributeRate, Disclosure

__all__ = ["view_of"]

_MOST_ROWS = 60
_MOST_DRAWN = 15
_MOST_IDENTIFIERS = 10

_DR = (
    "The Discrimination Rate DR(Y) = 1 - H(X|Y) / H(X): the share of the uncertainty about X that knowing Y removes. 0: nothing; "
    "1: Y determines X. Entropies are in bits, from relative frequencies."
)
_IDENTITY = f"{_DR} Here X is the record's identity, so H(X) = log2 N for N records."
_BY_VALUE = (
    "For those who have the value y: 1 - H(X|Y=y) / H(X), not weighted by how common y is. 1: anyone who has it is known; "
    "below 0: less certain than before."
)
_ADJUSTED = (
    "(DR - E) / (1 - E), where E is the average rate if the same sensitive values were assigned to the same classes at random. "
    "0 is chance; the plain rate rises with the number of classes even for noise."
)
_RISK = "The prosecutor's risk of a record is 1 / (records with the same key): the target is known to be in the file."
_BANDS = ("1", "2", "3-4", "5-9", "10-19", "20-49", "50-99", "100+")
_RISKS = ("1", "1/2", "1/4-1/3", "1/9-1/5", "1/19-1/10", "1/49-1/20", "1/99-1/50", "to 1/100")
_KINDS = (
    "identifier: every class holds one value of the target; zero-identifier: the two are exactly independent; "
    "partial-identifier: some class holds only one value; sketchy-identifier: none does. Decided on integer counts."
)
_MODELS = (
    "Over the classes of the key, the worst class decides. p-sensitivity and distinct l: the distinct sensitive values in a "
    "class. Entropy l: 2 to the power of their entropy. Recursive c for l: the count of the most frequent value over the sum "
    "from the l-th on. t-closeness: the distance between a class's distribution of sensitive values and the table's. alpha: the "
    "share of a class's most frequent value. beta-likeness: by which factor, less one, a value becomes more likely in a class "
    "(enhanced: not past -ln of its share). delta-disclosure: the largest |ln| of that factor."
)
_DEFINED = {
    "k": "The least number of records that share a key.",
    "highest risk": _RISK,
    "average risk": f"{_RISK} Here, the mean over the records, which is classes / records.",
    "records at risk": f"{_RISK} Here, the share of records whose risk exceeds the threshold.",
    "sample uniques": "Records whose key no other record has.",
    "Risk": f"{_RISK} The journalist's counts the population instead of the file, the marketer's is the mean over the records.",
    "Classes": "k-anonymity: the smallest class. Average risk: classes / records.",
}

_DEFINED_BY_PERSON = {
    "k": "The least number of people who share a key; somebody with several records there counts once.",
    "average risk": f"{_RISK} Here, people who share a key; everybody counts with the highest of their risks.",
    "people at risk": f"{_RISK} Here, the share of people who are in a class where it exceeds the threshold.",
    "sample uniques": "People with a class of their own: nobody else has a record in it, however many records they have there.",
    "Classes": "k-anonymity: the smallest class, in people. Average risk: the mean over people, each in their smallest class.",
}


def view_of(assessment: Assessment) -> View:
    """Return the report: next steps, identification, disclosure, models and risks, origins, and provenance."""
    parts = [View("What to do next", notes=tuple(one.text for one in assessment.advice)), _identity(assessment)]
    if assessment.disclosures:
        parts.append(View("What discloses", lead=_LEAD_ON_DISCLOSURE, parts=tuple(_disclosures(assessment))))
    parts += [_models(assessment), *_origins(assessment), _made(assessment)]
    return View(
        f"What {assessment.place} gives away",
        figures=tuple(_first_figures(assessment)),
        lead=_lead(assessment),
        parts=tuple(parts),
    )


_LEAD_ON_DISCLOSURE = "How far an intruder who knows the key attributes of a person narrows down what is sensitive."


def _lead(assessment: Assessment) -> str:
    """Return the answer in one or two sentences."""
    sample = assessment.measurement.uniqueness["sample"]
    known = counted(len(assessment.made.key), "attribute")
    first = f"Someone who knows {'these' if len(assessment.made.key) > 1 else 'this'} {known}"
    if not sample["uniques"]:
        k = assessment.measurement["k_anonymity"].value
        first += f" of a person finds at least {number(k or 0)} matching {noun(assessment.measurement.unit)}: nobody is unique."
    else:
        share = f"{sample['share']:.1%}{_base(assessment)}"
        first += f" can single out {sample['uniques']:,} of the {assessment.measurement.everyone} ({share})."
    if not assessment.attributes:
        return first
    return f"{first} By itself, {assessment.attributes[0].name} says most about who is who."


def _base(assessment: Assessment) -> str:
    """Return the base of the share of uniques in words, if it is not all records."""
    return " of those with a key value" if assessment.measurement.suppressed else ""


def _first_figures(assessment: Assessment) -> Iterator[Figure]:
    prosecutor, sample = assessment.measurement.risk["prosecutor"], assessment.measurement.uniqueness["sample"]
    yield Figure(
        "records", assessment.made.records, f"in {counted(assessment.measurement.classes, 'class', 'classes')} of the key"
    )
    many = noun(assessment.measurement.unit)
    if assessment.measurement.persons is not None:
        yield Figure("people", assessment.measurement.persons, f"identified by {assessment.made.person}")
    share = f"{sample['share']:.2%}{_base(assessment) or ' of all'}"
    yield Figure(f"unique {many}", sample["uniques"], share, _defined(assessment)["sample uniques"])
    yield Figure("k", assessment.measurement["k_anonymity"].value, "the smallest class", _defined(assessment)["k"])
    yield Figure("Discrimination Rate", assessment.rate, "of all key attributes, for who is who", _IDENTITY)
    yield Figure("average risk", prosecutor["average"], f"share of {many} matched correctly if all are linked", _RISK)
    direct = dict.fromkeys(one.column for one in assessment.identifiers.findings if one.confidence != "possible")
    yield Figure("direct identifiers", len(direct), ", ".join(direct) or "none was recognised")
    for one in assessment.disclosures:
        if one.adjusted is not None and one.partition is None:
            yield Figure(f"{one.sensitive}, adjusted", one.adjusted, "Discrimination Rate beyond chance", f"{_DR} {_ADJUSTED}")


# What identifies ------------------------------------------------------------------------------------------------------


def _identity(assessment: Assessment) -> View:
    """Return the section on identification: attributes, values, pairs, combinations, minimal and direct identifiers."""
    names = {rate.name for rate in assessment.attributes[:_MOST_DRAWN]}
    unnamed = "Masked values have no name." if assessment.small else ""
    charts = [
        Chart(
            "attributes", "bars", "What each attribute says about who is who", ("attribute", "DR"),
            tuple((rate.name, rate.dr) for rate in assessment.attributes[:_MOST_DRAWN]), _more(assessment.attributes), _IDENTITY,
        ),
        _values_chart("values", "What each value says about who is who", assessment.attributes, unnamed),
    ]  # fmt: skip
    if assessment.pairs:
        charts.append(_pairs_chart(assessment, names))
    tables = [_attribute_table(assessment)]
    if assessment.riskiest:
        tables.append(_combination_table(assessment))
    if assessment.identifiers.findings:
        tables.append(replace(assessment.identifiers.view().tables[0], title="Columns that may name people outright"))
    return View("What identifies", tables=tuple(tables), notes=tuple(_identity_notes(assessment)), charts=tuple(charts))


def _attribute_table(assessment: Assessment) -> Table:
    rows = tuple((rate.name, rate.dr, rate.kind, rate.values, rate.masked) for rate in assessment.attributes[:_MOST_ROWS])
    return Table(
        ("attribute", "DR", "kind", "values", "masked"),
        rows,
        "Attributes, riskiest first",
        _cut(len(assessment.attributes)),
        frozenset({"DR"}),
        f"{_IDENTITY} {_KINDS}",
    )


def _combination_table(assessment: Assessment) -> Table:
    rows = tuple((len(one.key), " + ".join(one.key), one.dr, one.kind, one.classes) for one in assessment.riskiest)
    largest = assessment.combinations.max_size
    note = f"sets of up to {largest} attributes were looked at" if largest and largest < len(assessment.made.key) else ""
    return Table(
        ("size", "attributes", "DR", "kind", "classes"), rows, "Riskiest combinations of each size", note, frozenset({"DR"}),
        f"{_IDENTITY} {_KINDS}",
    )  # fmt: skip


def _pairs_chart(assessment: Assessment, names: set[str]) -> Chart:
    order = [rate.name for rate in assessment.attributes if rate.name in names]
    rates = {frozenset(one.key): one.dr for one in assessment.pairs} | {
        frozenset([rate.name]): rate.dr for rate in assessment.attributes
    }
    rows = tuple(
        (row, column, rates[frozenset((row, column))])
        for at, row in enumerate(order)
        for column in order[: at + 1]
        if frozenset((row, column)) in rates
    )
    note = "Stronger colour: the two together say more about who is who; on the diagonal, one attribute alone."
    return Chart("pairs", "heat", "Pairs of attributes", ("attribute", "with", "DR"), rows, note, _IDENTITY)


def _values_chart(name: str, title: str, rates: Sequence[AttributeRate], masked: str) -> Chart:
    rows = tuple((rate.name, dot.what, dot.posterior, dot.records) for rate in rates[:_MOST_DRAWN] for dot in rate.dots)
    note = f"A dot is a value, or several with the same rate; the larger the dot, the more records. {masked}".rstrip()
    return Chart(
        name, "dots", title, ("attribute", "value", "rate for those who hold the value", "records"), rows, note, _BY_VALUE
    )


def _identity_notes(assessment: Assessment) -> Iterator[str]:
    minimal = assessment.combinations.minimal_identifiers
    if minimal:
        some = "; ".join(" + ".join(key) for key in minimal[:_MOST_IDENTIFIERS])
        more = f"; and {len(minimal) - _MOST_IDENTIFIERS:,} more" if len(minimal) > _MOST_IDENTIFIERS else ""
        yield f"Minimal identifiers (they distinguish every record from every other; no part of them does): {some}{more}."
    else:
        yield "No set of attributes that was looked at distinguishes every record from every other."
    yield from _left_out(assessment)
    if assessment.assumed:
        yield "No key was named: every column but direct identifiers and sensitive ones is assumed to be known to an intruder."


def _cut(rows: int) -> str:
    return f"the first {_MOST_ROWS} of {rows:,}; the whole answer has them all" if rows > _MOST_ROWS else ""


def _left_out(assessment: Assessment) -> Iterator[str]:
    """Yield notes on the sets of attributes that were not examined."""
    largest, keys, together = assessment.combinations.max_size, len(assessment.made.key), len(assessment.combined)
    if together < keys:
        yield (
            f"Left out: sets with one of the {keys - together:,} attributes that say least by themselves; sets were looked at "
            f"among the {together:,} that say most. Name fewer with `key`, or look at all with `max_size`."
        )
    if largest is not None and largest < together:
        yield f"Left out: sets of more than {counted(largest, 'attribute')}, for lack of time; `max_size` looks at larger ones."


def _more(rates: Sequence[AttributeRate]) -> str:
    return f"The {_MOST_DRAWN} highest of {len(rates):,}." if len(rates) > _MOST_DRAWN else ""


# What discloses -------------------------------------------------------------------------------------------------------


def _disclosures(assessment: Assessment) -> Iterator[View]:
    for at, one in enumerate(assessment.disclosures):
        if one.dr is None:
            yield View(one.title, notes=(one.reason or "",))
            continue
        yield View(
            one.title,
            figures=tuple(_disclosure_figures(assessment, one)),
            tables=(_disclosure_table(one),),
            charts=tuple(_disclosure_charts(assessment, one, f"disclosure-{at + 1}")),
        )


def _disclosure_figures(assessment: Assessment, one: Disclosure) -> Iterator[Figure]:
    yield Figure("Discrimination Rate", one.dr, "of all key attributes together", _DR)
    yield Figure("adjusted for chance", one.adjusted, one.reason or "0 is what a random key would give", _ADJUSTED)
    yield Figure("kind", one.kind, "", _KINDS)
    if one.partition is None:
        guess = assessment.measurement.vulnerability[one.sensitive]
        yield Figure(
            "best guess", guess["posterior"], f"share that is right; {number(guess['prior'])} without the key",
            "Bayes vulnerability: the sum over the classes of the share of their most frequent value.",
        )  # fmt: skip


def _disclosure_table(one: Disclosure) -> Table:
    rows = tuple((rate.name, rate.dr, rate.adjusted, rate.kind) for rate in one.attributes[:_MOST_ROWS])
    return Table(
        ("attribute", "DR", "adjusted", "kind"), rows, f"What each attribute says about {one.sensitive}",
        _cut(len(one.attributes)),
        frozenset({"DR"}), f"{_DR} Adjusted: {_ADJUSTED} {_KINDS}",
    )  # fmt: skip


def _disclosure_charts(assessment: Assessment, one: Disclosure, name: str) -> Iterator[Chart]:
    shown = one.attributes[:_MOST_DRAWN]
    title = f"What each attribute says about {one.sensitive}"
    if all(rate.adjusted is not None for rate in shown):
        rows: tuple[tuple[Any, ...], ...] = tuple((rate.name, rate.adjusted, rate.dr) for rate in shown)
        note = "Bar: adjusted for chance; line across: the plain rate."
        yield Chart(name, "bars", title, ("attribute", "adjusted DR", "DR"), rows, note, f"{_DR} Adjusted: {_ADJUSTED}")
    else:
        rows = tuple((rate.name, rate.dr) for rate in shown)
        yield Chart(name, "bars", title, ("attribute", "DR"), rows, _more(one.attributes), _DR)
    hidden = "Masked values are not drawn." if assessment.small else ""
    yield _values_chart(f"{name}-values", f"What each value says about {one.sensitive}", one.attributes, hidden)


# Models and risks -----------------------------------------------------------------------------------------------------


def _models(assessment: Assessment) -> View:
    """Return the models and risks as `unveil measure` shows them, with the distributions of risks and class sizes."""
    shown = measured_view(assessment.measurement)
    sizes, total = assessment.class_sizes, sum(assessment.class_sizes.records)
    risks = tuple(reversed([(label, records / total) for label, records in zip(_RISKS, sizes.records, strict=True)]))
    charts = (
        Chart(
            "risk", "columns", f"{noun(assessment.measurement.unit).capitalize()} by their risk",
            ("prosecutor risk", f"share of {noun(assessment.measurement.unit)}"), risks,
            "Further right is riskier.", _RISK,
        ),
        Chart(
            "classes", "columns", "Classes by their size", (f"{noun(assessment.measurement.unit)} in a class", "classes"),
            tuple(zip(_BANDS, sizes.classes, strict=True)), "", "A class: the records that share all values of the key.",
        ),
    )  # fmt: skip
    masked = (masking_in_words(assessment.small),) if assessment.small else ()
    known = _defined(assessment)
    figures = tuple(replace(figure, definition=known.get(figure.label, "")) for figure in shown.figures)
    tables = tuple(replace(table, definition=known.get(table.title, _MODELS)) for table in shown.tables)
    return View("Models and risks", figures, tables, (*shown.notes, *masked), charts)


def _defined(assessment: Assessment) -> Mapping[str, str]:
    """Return the meaning of the figures and tables; they count people if the data distinguishes them."""
    return _DEFINED if assessment.measurement.persons is None else {**_DEFINED, **_DEFINED_BY_PERSON}


def _origins(assessment: Assessment) -> Iterator[View]:
    """Yield the section on what would remain without each attribute."""
    if not assessment.without:
        return
    first = sorted(assessment.without, key=lambda one: one.uniques)[:_MOST_ROWS]
    rows = tuple((one.name, one.uniques, one.k, one.average_risk) for one in first)
    sample, prosecutor = assessment.measurement.uniqueness["sample"], assessment.measurement.risk["prosecutor"]
    k = assessment.measurement["k_anonymity"].value
    everything = (("(nothing left out)", sample["uniques"], k, prosecutor["average"]),)
    table = Table(
        ("left out", f"unique {noun(assessment.measurement.unit)}", "k", "average risk"), (*everything, *rows),
        "If one attribute were left out",
        _cut(len(assessment.without)),
        frozenset({"average risk"}), f"The classes of the other key attributes. {_RISK}",
    )  # fmt: skip
    yield View("Where it comes from", tables=(table,))


# How it was made ------------------------------------------------------------------------------------------------------


def _made(assessment: Assessment) -> View:
    provenance = assessment.made
    rows: list[tuple[Any, ...]] = [
        ("data", assessment.place),
        ("key", ", ".join(provenance.key[:_MOST_ROWS])),
        ("key attributes", f"{len(provenance.key):,}"),
        ("sensitive", ", ".join(provenance.sensitive) or None),
        ("partitions", ", ".join(provenance.partitions) or None),
        (
            "nulls",
            f"{provenance.nulls} ({counted(provenance.dropped, 'record')} left out)" if provenance.dropped else provenance.nulls,
        ),
        ("weights", provenance.weights),
        *([("person", provenance.person)] if provenance.person is not None else []),
        *([("household", provenance.household)] if provenance.household is not None else []),
        ("largest sets of attributes", str(assessment.combinations.max_size)),
        ("values masked", masking_in_words(assessment.small) if assessment.small else "no"),
        ("direct identifiers", f"up to {assessment.identifiers.sample:,} values per column, seed {assessment.identifiers.seed}"),
        ("version", f"unveil {provenance.version}"),
        ("date", provenance.date),
    ]
    tables = [Table(("setting", "value"), tuple(rows), "Settings")]
    if assessment.files:
        tables.append(file_table(assessment.files))
    return View("How it was made", tables=tuple(tables))
