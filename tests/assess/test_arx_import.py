"""A project of ARX taken over: its parts written as ARX writes them, Java's own among them, and read back."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import unveil
from unveil.cli import run
from unveil.errors import DataNotFoundError, HierarchyError, OutputError, ProjectError
from unveil.project.arx.java_stream import JavaStreamError, read_objects

ROWS = [
    ("ana", "34", "f", "flu"),
    ("bo", "36", "m", "gout"),
    ("cleo", "51", "f", "flu"),
    ("dan", "55", "m", "flu"),
    ("eve", "58", "f", "NULL"),
]
ROLES = {"name": "IDENTIFYING", "age": "QUASI_IDENTIFYING", "sex": "QUASI_IDENTIFYING", "disease": "SENSITIVE"}
TREES = {"age": "34;30-39;*\n36;30-39;*\n51;50-59;*\n55;50-59;*\n58;50-59;*\n", "sex": "f;*\nm;*\n"}


def text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()


def described(name: str, fields: list[tuple[str, str]], parent: bytes = b"\x70") -> bytes:
    """Return the description of a class: type code and name of each field, objects as Object."""
    told = b"".join(
        kind.encode() + text(field) + (b"\x74" + text("Ljava/lang/Object;" if kind == "L" else "[J") if kind in "[L" else b"")
        for kind, field in fields
    )
    return b"\x72" + text(name) + bytes(8) + b"\x02" + struct.pack(">H", len(fields)) + told + b"\x78" + parent


def java_settings(selected: list[int] | None, function: str = "RANK", people: int | None = 50, factor: float = 0.5) -> bytes:
    """Return what Java writes of a configuration: the metric's factor and way to join, the population, the records selected."""
    enum = b"\x7e" + described("org.deidentifier.arx.metric.Metric$AggregateFunction", []) + b"\x74" + text(function)
    fields = [("D", "gsFactor"), ("L", "function")]
    metric = b"\x73" + described("org.deidentifier.arx.metric.v2.MetricMDNMLoss", fields) + struct.pack(">d", factor) + enum
    boxed = b"\x70" if people is None else b"\x73" + described("java.lang.Long", [("J", "value")]) + struct.pack(">q", people)
    population = b"\x73" + described("org.deidentifier.arx.ARXPopulationModel", [("D", "f"), ("L", "populationSize")])
    population += struct.pack(">d", 0.01) + boxed
    amounts = [("D", name) for name in ("adversaryCost", "adversaryGain", "publisherBenefit", "publisherLoss")]
    costs = (
        b"\x73" + described("org.deidentifier.arx.ARXCostBenefitConfiguration", amounts) + struct.pack(">4d", 4, 300, 1200, 310)
    )
    k_map = b"\x73" + described("org.deidentifier.arx.criteria.KMap", [("D", "significanceLevel")]) + struct.pack(">d", 0.05)
    rows = b"\x70"
    if selected is not None:
        bits = b"\x75" + described("[J", []) + struct.pack(">iq", 1, sum(1 << place for place in selected))
        rows = b"\x73" + described("org.deidentifier.arx.RowSet", [("I", "length"), ("I", "size"), ("[", "array")])
        rows += struct.pack(">ii", len(ROWS), len(selected)) + bits
    names = [("L", "costs"), ("L", "kMap"), ("L", "metric"), ("L", "model"), ("L", "researchSubset")]
    top = b"\x73" + described("org.deidentifier.arx.gui.model.ModelConfiguration", names)
    return b"\xac\xed\x00\x05" + top + costs + k_map + metric + population + rows


def project_of_arx(
    path: Path, *, criteria: tuple[str, ...] = ("2-anonymity",), metric: str = "Loss (0.5/1.0/1.0)", **given: Any
) -> Path:
    """Write a .deid file."""
    columns = []
    for name, role in ROLES.items():
        tree = f"<ref>hierarchies/{name}.csv</ref><min>{given.get('least', 'All')}</min><max>All</max>" if name in TREES else ""
        response = "<responseVariable>true</responseVariable>" if name == "disease" else ""
        kind = "Integer" if name == "age" else "String"
        columns.append(
            f"<assigment><name>{name}</name><type>{role}_ATTRIBUTE</type><datatype>{kind}</datatype>{response}{tree}</assigment>"
        )
    weights = "".join(
        f"<attributeWeight><attribute>{name}</attribute><weight>{weight}</weight></attributeWeight>"
        for name, weight in given.get("weights", {}).items()
    )
    told = "".join(f"<criterion>{one}</criterion>" for one in criteria)
    parts = {
        "metadata.xml": "<metadata><version>3.9.2</version></metadata>",
        "project.xml": "<project><name>care</name><separator>;</separator></project>",
        "input/definition.xml": given.get("definition", f"<definition>{''.join(columns)}</definition>"),
        "input/config.xml": f"<config><relativeMaxOutliers>{given.get('limit', 0.4)}</relativeMaxOutliers><metric>{metric}</metric>"
        f"<attributeWeights>{weights}</attributeWeights><criteria>{told}</criteria></config>",
        "data/input.csv": "\n".join(";".join(row) for row in [tuple(ROLES), *ROWS]) + "\n",
        **{f"input/hierarchies/{name}.csv": given.get("tree", tree) for name, tree in TREES.items()},
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            if name != given.get("without"):
                archive.writestr(name, content)
        if given.get("java", b"") is not None:
            archive.writestr("input/config.dat", given.get("java") or java_settings(None))
    return path


def test_a_project_is_taken_over_with_all_that_it_says(tmp_path: Path) -> None:
    criteria = ("2-anonymity", "distinct-2-diversity for attribute 'disease'", "Inclusion")
    file = project_of_arx(
        tmp_path / "care.deid", criteria=criteria, java=java_settings([0, 1, 2, 4]), weights={"age": 1.0, "sex": 0.5}
    )
    found = unveil.import_arx(file, tmp_path / "unveil.toml")
    found.write()
    project = unveil.Project.read(tmp_path / "unveil.toml")
    assert project == found.project
    assert {name: (one.role, one.kind) for name, one in project.attributes.items()} == {
        "name": ("identifier", "nominal"), "age": ("key", "continuous"), "sex": ("key", "nominal"), "disease": ("sensitive", "nominal"),
    }  # fmt: skip
    assert project.hierarchy("age") == unveil.Hierarchy("age", [line.split(";") for line in TREES["age"].split()])
    assert project.models == {"k": 2, "l": ["distinct:2:disease"]}
    step = project.protect["arx"]
    assert (step.mechanism, step.attributes) == ("generalize", ("age", "sex"))
    assert step.options == {
        **project.models, "suppression": 0.4, "objective": "loss-rank", "weights": {"age": 1.0, "sex": 0.5},
    }  # fmt: skip
    held = pl.read_csv(tmp_path / "care.csv", separator=";", null_values="NULL")
    assert held.rows() == [("ana", 34, "f", "flu"), ("bo", 36, "m", "gout"), ("cleo", 51, "f", "flu"), ("eve", 58, "f", None)]
    assert any("4 records" in note for note in found.notes)


def test_the_verb_takes_it_over_and_the_next_one_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    project_of_arx(tmp_path / "care.deid", java=java_settings(None, "ARITHMETIC_MEAN"))
    assert run(["init", "care.deid", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == {"k": 2}
    assert run(["anonymize", "--json", "--out", "release.csv"]) == 0
    made = json.loads(capsys.readouterr().out)
    plain = unveil.anonymize(
        unveil.source("care.csv", separator=";", missing=["NULL"]), ["age", "sex"], [unveil.models.KAnonymity(2)],
        hierarchies={name: unveil.Hierarchy(name, [line.split(";") for line in tree.split()]) for name, tree in TREES.items()},
        suppression=0.4, identifiers="name",
    )  # fmt: skip
    assert (made["transformation"], made["score"], made["optimal"]) == (plain.transformation, plain.score, True)
    assert run(["init", "care.deid"]) == 2
    assert "would be replaced" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("criterion", "models"),
    [
        ("(5)-map estimated as (3)-anonymity (Poisson)", {"k": 3}),
        ("(9)-map estimated as (unknown)-anonymity (Zero-truncated Poisson)", {"k_map": "9:0.1:0.05:zero-truncated"}),
        ("shannon-entropy-2.5-diversity for attribute 'disease'", {"l": ["entropy:2.5:disease"]}),
        ("grassberger-entropy-2.0-diversity for attribute 'disease'", {"l": ["grassberger:2:disease"]}),
        ("recursive-(4.0,3)-diversity for attribute 'disease'", {"l": ["recursive:4:3:disease"]}),
        ("0.2-closeness with equal ground-distance for attribute 'disease'", {"t": ["0.2:equal:disease"]}),
        ("0.2-closeness with hierarchical ground-distance for attribute 'disease'", {"t": ["0.2:hierarchical:disease"]}),
        ("0.2-closeness with ordered distance for attribute 'disease'", {"t": ["0.2:rank:disease"]}),
        ("enhanced-1.5-likeness for attribute 'disease'", {"beta": ["enhanced:1.5:disease"]}),
        ("1.0-disclosure privacy for attribute 'disease'", {"delta": ["present:1:disease"]}),
        ("(0.05)-avg-reidentification-risk", {"average_risk": 0.05}),
        ("(0.01)-sample-uniqueness", {"uniqueness": ["sample:0.01"]}),
        ("(1.0E-4)-population-uniqueness (dankar)", {"uniqueness": ["population:0.0001:0.1:dankar"]}),
        ("profitability (prosecutor)[benefit=1200.0, loss=300.0, gain=300.0, cost=4.0]", {"profitable": "1200:300:300:4"}),
        ("profitability (prosecutor)", {"profitable": "1200:310:300:4"}),
        ("no-attack-profitability (prosecutor)", {"no_attack": "300:4"}),
        ("no-attack-profitability (prosecutor)[benefit=1.0, loss=2.0, gain=300.0, cost=4.0]", {"no_attack": "300:4"}),
        ("no-attack-profitability (journalist)[benefit=1.0, loss=2.0, gain=300.0, cost=4.0]", {"no_attack": "300:4"}),
        ("profitability (journalist)[benefit=1200.0, loss=300.0, gain=300.0, cost=4.0]", {"profitable": "1200:300:300:4"}),
    ],
)
def test_requirements_have_the_words_of_a_project_file(criterion: str, models: dict[str, Any], tmp_path: Path) -> None:
    found = unveil.import_arx(project_of_arx(tmp_path / "care.deid", criteria=(criterion,)), tmp_path / "unveil.toml")
    assert found.project.models == models
    assert any("measured against a prosecutor" in note for note in found.notes) == ("(journalist)" in criterion)
    found.write()
    assert unveil.Study.of(tmp_path / "unveil.toml").project is not None


@pytest.mark.parametrize(
    "criterion",
    ["(2.0,1.0E-5)-DP", "(0.1,0.5)-presence", "(5)-map"],
)
def test_what_has_no_counterpart_is_said_and_stands_in_the_file(criterion: str, tmp_path: Path) -> None:
    found = unveil.import_arx(
        project_of_arx(tmp_path / "care.deid", criteria=("2-anonymity", criterion)), tmp_path / "unveil.toml"
    )
    assert found.project.models == {"k": 2}
    assert any(note.startswith(criterion) for note in found.notes)
    assert criterion in found.to_toml()


@pytest.mark.parametrize(
    ("metric", "objective", "factor"),
    [
        ("Loss (0.2/1.0/0.4)", "loss-rank", 0.2),
        ("Monotonic precision", "precision-rank", 0.0),
        ("Non-monotonic precision", "precision-rank", None),
        ("Non-uniform entropy", "entropy-arx-rank", 0.0),
        ("Non-monotonic non-uniform entropy", "entropy-arx-rank", None),
        ("Height", "height-rank", None),
        ("Non-monotonic discernability", "discernibility", None),
        ("Monotonic discernability (DM*)", "discernibility-monotone", None),
        ("Normalized non-uniform entropy", "entropy-normalized-rank", None),
        ("Average equivalence class size", "class-size", None),
        ("PublisherBenefit (Prosecutor)", "payoff:1200:310:300:4", None),
        ("Classification accuracy", "classification:disease", None),
        ("Ambiguity", "ambiguity", None),
        ("EntropyBasedInformationLoss", "entropy-based", None),
        ("Some other model", "loss", None),
    ],
)
def test_quality_models_have_an_objective(metric: str, objective: str, factor: float | None, tmp_path: Path) -> None:
    found = unveil.import_arx(project_of_arx(tmp_path / "care.deid", metric=metric, least="1"), tmp_path / "unveil.toml")
    options = found.project.protect["arx"].options
    assert (options["objective"], options.get("factor")) == (objective, factor)
    assert options["levels"] == {"age": [1, 2], "sex": [1, 1]}
    assert (objective == "loss") == any("Quality model" in note for note in found.notes)


@pytest.mark.parametrize(
    ("metric", "objective", "factor"),
    [
        ("Non-monotonic precision", "precision-arx-max", 0.3),
        ("Monotonic precision", "precision-max", 0.0),
        ("Non-monotonic non-uniform entropy", "entropy-arx-max", 0.3),
        ("Normalized non-uniform entropy", "entropy-normalized-max", None),
        ("Average equivalence class size", "class-size", 0.3),
        ("EntropyBasedInformationLoss", "entropy-based", 0.3),
        ("Classification accuracy", "classification:disease", 0.3),
        ("Ambiguity", "ambiguity", None),
        ("PublisherBenefit (Prosecutor)", "payoff:1200:310:300:4", 0.3),
    ],
)
def test_the_factor_and_the_way_to_join_are_those_that_java_wrote(
    metric: str, objective: str, factor: float | None, tmp_path: Path
) -> None:
    file = project_of_arx(tmp_path / "care.deid", metric=metric, java=java_settings(None, "MAXIMUM", factor=0.3), limit=0.9)
    found = unveil.import_arx(file, tmp_path / "unveil.toml")
    options = found.project.protect["arx"].options
    assert (options["objective"], options.get("factor"), found.notes) == (objective, factor, ())
    unread = unveil.import_arx(project_of_arx(tmp_path / "unread.deid", metric=metric, java=None), tmp_path / "unveil.toml")
    said = " ".join(unread.notes)
    assert ("factor between" in said) == (factor == 0.3)
    assert ("How ARX joins" in said) == objective.endswith("-max")


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ("(3)-map", {"k_map": "3"}),
        ("(0.0,0.9)-presence", {"presence": "0:0.9"}),
        ("no-attack-profitability (journalist)", {"no_attack": "300:4:journalist"}),
        ("profitability (journalist)[benefit=9.0, loss=2.0, gain=3.0, cost=4.0]", {"profitable": "9:2:3:4:journalist"}),
    ],
)
def test_where_records_are_selected_all_of_them_are_the_population(
    criterion: str, words: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project_of_arx(tmp_path / "care.deid", criteria=(criterion,), java=java_settings([0, 1, 2, 3]), limit=0.5)
    found = unveil.import_arx(file, tmp_path / "unveil.toml")
    found.write()
    options = found.project.protect["arx"].options
    assert {word: options[word] for word in words} == words
    assert options["population"] == "care-population.csv"
    assert found.project.models == {}
    assert pl.read_csv(tmp_path / "care-population.csv", separator=";").height == len(ROWS)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    asked = ["anonymize", "--project", str(tmp_path / "unveil.toml"), "--json", "--out", "release.csv"]
    code = run(asked)
    made = capsys.readouterr()
    if "no_attack" in words:
        assert (code, "cannot be met" in made.err) == (1, True)  # it takes 76 people
        return
    assert code == 0
    assert json.loads(made.out)["models"]


def test_the_payoff_of_a_journalist_goes_by_all_records(tmp_path: Path) -> None:
    metric = "PublisherBenefit (Journalist, Benefit=1200.0)"
    for selected, objective, population in (
        ([0, 1, 2, 3], "payoff:1200:310:300:4:journalist", "care-population.csv"),
        (None, "payoff:1200:310:300:4", None),
    ):
        file = project_of_arx(tmp_path / "care.deid", metric=metric, java=java_settings(selected))
        found = unveil.import_arx(file, tmp_path / "unveil.toml")
        options = found.project.protect["arx"].options
        assert (options["objective"], options.get("population")) == (objective, population)
        assert any("measured against a prosecutor" in note for note in found.notes) == (selected is None)


def test_several_columns_may_be_told(tmp_path: Path) -> None:
    file = project_of_arx(tmp_path / "care.deid", metric="Classification accuracy")
    with zipfile.ZipFile(file) as archive:
        plain = archive.read("input/definition.xml").decode()
    both = plain.replace("<name>sex</name>", "<name>sex</name><responseVariable>true</responseVariable>")
    again = project_of_arx(tmp_path / "both.deid", metric="Classification accuracy", definition=both)
    options = unveil.import_arx(again, tmp_path / "unveil.toml").project.protect["arx"].options
    assert options["objective"] == "classification:sex+classification:disease"
    rows = pl.DataFrame(ROWS, schema=list(ROLES), orient="row").drop("name")
    trees = {name: unveil.Hierarchy(name, [line.split(";") for line in tree.split()]) for name, tree in TREES.items()}
    levels = {"age": (1, 1), "sex": (0, 0)}
    scores = [
        unveil.anonymize(rows, trees, [unveil.models.KAnonymity(1)], objective=one, levels=levels).score
        for one in (options["objective"], "classification:sex", "classification:disease")
    ]
    assert scores[0] == pytest.approx(scores[1] + scores[2])
    with pytest.raises(unveil.errors.ArgumentError, match=r"is unknown; it is one of: loss"):
        unveil.anonymize(rows, trees, [unveil.models.KAnonymity(1)], objective="classification:sex+classification:")


def test_an_ordered_distance_goes_by_the_order_that_arx_goes_by(tmp_path: Path) -> None:
    criterion = "0.2-closeness with ordered distance for attribute 'disease'"
    file = project_of_arx(tmp_path / "care.deid", criteria=(criterion,))
    found = unveil.import_arx(file, tmp_path / "unveil.toml").project.attributes["disease"]
    assert (found.kind, found.order) == ("ordinal", ("flu", "gout"))
    with zipfile.ZipFile(file) as archive:
        plain = archive.read("input/definition.xml").decode()
    before, after = plain.split("<name>disease</name>")
    ordinal = after.replace("<datatype>String</datatype>", "<datatype>Ordinal</datatype><format>gout\nflu</format>")
    saved = project_of_arx(tmp_path / "saved.deid", criteria=(criterion,), definition=f"{before}<name>disease</name>{ordinal}")
    again = unveil.import_arx(saved, tmp_path / "unveil.toml")
    assert again.project.attributes["disease"].order == ("gout", "flu")
    assert not any("Say the order" in note for note in again.notes)


def test_the_publishers_payoff_is_that_of_the_requirement(tmp_path: Path) -> None:
    criterion = "profitability (prosecutor)[benefit=1200.0, loss=300.0, gain=300.0, cost=4.0]"
    metric = "PublisherBenefit (Prosecutor, Benefit=1200.0)"
    found = unveil.import_arx(
        project_of_arx(tmp_path / "care.deid", criteria=(criterion,), metric=metric), tmp_path / "unveil.toml"
    )
    options = found.project.protect["arx"].options
    assert (options["objective"], options["profitable"]) == ("payoff:1200:300:300:4", "1200:300:300:4")


def test_without_what_java_wrote_the_rest_is_taken_over_and_that_is_said(tmp_path: Path) -> None:
    for java in (None, b"nothing", java_settings([0, 1])[:-40]):
        found = unveil.import_arx(project_of_arx(tmp_path / "care.deid", java=java), tmp_path / "unveil.toml")
        assert found.records == len(ROWS)
        assert any("all records are used" in note for note in found.notes)


@pytest.mark.parametrize("cut", range(4, 500, 23))
def test_a_stream_that_is_cut_off_is_refused(cut: int) -> None:
    with pytest.raises(JavaStreamError):
        read_objects(java_settings([1, 2])[:cut] + b"\x7f")


def test_what_is_no_project_of_arx_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match="is not there"):
        unveil.import_arx(tmp_path / "none.deid")
    for place in ("a\0b.deid", "\ud800", "x" * 5000, tmp_path):
        with pytest.raises(ProjectError, match="cannot be read"):
            unveil.import_arx(place)
    (tmp_path / "text.deid").write_text("name;age\n")
    with pytest.raises(ProjectError, match="not a project of ARX"):
        unveil.import_arx(tmp_path / "text.deid")
    for missing in ("data/input.csv", "input/definition.xml", "input/hierarchies/age.csv"):
        with pytest.raises(ProjectError, match="save it in ARX once more"):
            unveil.import_arx(project_of_arx(tmp_path / "part.deid", without=missing))
    laughs = '<!DOCTYPE a [<!ENTITY b "ha">]><definition>&b;</definition>'
    with pytest.raises(ProjectError, match="declares entities"):
        unveil.import_arx(project_of_arx(tmp_path / "laughs.deid", definition=laughs))
    with pytest.raises(ProjectError, match="not those that it describes"):
        unveil.import_arx(project_of_arx(tmp_path / "other.deid", definition="<definition/>"))
    with pytest.raises(HierarchyError):
        unveil.import_arx(project_of_arx(tmp_path / "tree.deid", tree="1;a\n1;b\n"))


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("data/input.csv", b"name;age;sex;disease\nana;34;f;fl\xff\n"),
        ("data/input.csv", b"name;age;sex;disease\nana;34\n"),
        ("input/hierarchies/age.csv", b"\xff\xfe3;30-39\n"),
        ("input/config.xml", b"<config><metric>\xff</metric></config>"),
        ("input/config.xml", b"<config><metric>"),
        ("project.xml", b""),
    ],
)
def test_a_damaged_part_is_refused_in_one_line(
    part: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = project_of_arx(tmp_path / "care.deid", without=part)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(part, content)
    assert run(["init", "care.deid"]) == 2
    said = capsys.readouterr().err
    assert "care.deid" in said
    assert said.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["care.deid"]


def test_a_file_that_is_cut_or_changed_in_place_is_refused(tmp_path: Path) -> None:
    whole = project_of_arx(tmp_path / "care.deid").read_bytes()
    at = whole.index(b"ana;34")
    for damaged in (whole[:-30], whole[: len(whole) // 2], whole.replace(whole[at : at + 3], b"bob")):
        (tmp_path / "damaged.deid").write_bytes(damaged)
        with pytest.raises(ProjectError, match="or the file is damaged"):
            unveil.import_arx(tmp_path / "damaged.deid")


def test_no_file_is_replaced_unless_asked(tmp_path: Path) -> None:
    found = unveil.import_arx(project_of_arx(tmp_path / "care.deid"), tmp_path / "unveil.toml")
    (tmp_path / "care.csv").write_text("mine")
    with pytest.raises(OutputError, match="would be replaced"):
        found.write()
    assert not (tmp_path / "hierarchies").exists()
    found.write(force=True)
    assert (tmp_path / "care.csv").read_text() != "mine"
