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


def java_settings(selected: list[int] | None, function: str = "RANK", people: int | None = 50) -> bytes:
    """Return what Java writes of a configuration: the metric's way to join, the population and the records selected."""
    enum = b"\x7e" + described("org.deidentifier.arx.metric.Metric$AggregateFunction", []) + b"\x74" + text(function)
    metric = b"\x73" + described("org.deidentifier.arx.metric.v2.MetricMDNMLoss", [("L", "function")]) + enum
    boxed = b"\x70" if people is None else b"\x73" + described("java.lang.Long", [("J", "value")]) + struct.pack(">q", people)
    population = b"\x73" + described("org.deidentifier.arx.ARXPopulationModel", [("D", "f"), ("L", "populationSize")])
    population += struct.pack(">d", 0.01) + boxed
    rows = b"\x70"
    if selected is not None:
        bits = b"\x75" + described("[J", []) + struct.pack(">iq", 1, sum(1 << place for place in selected))
        rows = b"\x73" + described("org.deidentifier.arx.RowSet", [("I", "length"), ("I", "size"), ("[", "array")])
        rows += struct.pack(">ii", len(ROWS), len(selected)) + bits
    names = [("L", "metric"), ("L", "model"), ("L", "researchSubset")]
    top = b"\x73" + described("org.deidentifier.arx.gui.model.ModelConfiguration", names)
    return b"\xac\xed\x00\x05" + top + metric + population + rows


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
        ("shannon-entropy-2.5-diversity for attribute 'disease'", {"l": ["entropy:2.5:disease"]}),
        ("grassberger-entropy-2.0-diversity for attribute 'disease'", {"l": ["grassberger:2:disease"]}),
        ("recursive-(4.0,3)-diversity for attribute 'disease'", {"l": ["recursive:4:3:disease"]}),
        ("0.2-closeness with equal ground-distance for attribute 'disease'", {"t": ["0.2:equal:disease"]}),
        ("0.2-closeness with hierarchical ground-distance for attribute 'disease'", {"t": ["0.2:hierarchical:disease"]}),
        ("0.2-closeness with ordered distance for attribute 'disease'", {"t": ["0.2:rank:disease"]}),
        ("enhanced-1.5-likeness for attribute 'disease'", {"beta": ["enhanced:1.5:disease"]}),
        ("1.0-disclosure privacy for attribute 'disease'", {"delta": ["1:disease"]}),
        ("(0.05)-avg-reidentification-risk", {"average_risk": 0.05}),
        ("(0.01)-sample-uniqueness", {"uniqueness": ["sample:0.01"]}),
        ("(1.0E-4)-population-uniqueness (dankar)", {"uniqueness": ["population:0.0001:0.1:dankar"]}),
        ("profitability (prosecutor)[benefit=1200.0, loss=300.0, gain=300.0, cost=4.0]", {"profitable": "1200:300:300:4"}),
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
        ("Monotonic precision", "precision", 0.0),
        ("Non-monotonic discernability", "discernibility", None),
        ("Monotonic discernability (DM*)", "discernibility-monotone", None),
        ("Normalized non-uniform entropy", "entropy-arx", None),
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


def test_no_file_is_replaced_unless_asked(tmp_path: Path) -> None:
    found = unveil.import_arx(project_of_arx(tmp_path / "care.deid"), tmp_path / "unveil.toml")
    (tmp_path / "care.csv").write_text("mine")
    with pytest.raises(OutputError, match="would be replaced"):
        found.write()
    assert not (tmp_path / "hierarchies").exists()
    found.write(force=True)
    assert (tmp_path / "care.csv").read_text() != "mine"
