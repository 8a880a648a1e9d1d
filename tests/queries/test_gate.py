"""The gate: roles, groups, repeats, nulls, engines, per-column policies, and what it costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import unveil
from unveil import queries
from unveil.errors import ArgumentError, NullsError, UnsupportedDataError
from unveil.project import Project
from unveil.queries import Camouflage, Differential, QuestionError, Restriction, Sticky, col
from unveil.queries.opening import open_gate

RANDOM = np.random.default_rng(7)
N = 400
TABLE = pl.DataFrame(
    {
        "age": RANDOM.integers(18, 80, N),
        "sex": RANDOM.choice(["F", "M"], N),
        "town": RANDOM.choice(["a", "b", "c", "d"], N, p=[0.5, 0.3, 0.195, 0.005]),
        "pay": RANDOM.integers(1000, 9000, N),
        "score": RANDOM.normal(0, 1, N),
        "disease": RANDOM.choice(["flu", "aids", "cancer"], N, p=[0.4, 0.3, 0.3]),
    }
).with_columns(town=pl.when(pl.col("age") == 30).then(None).otherwise(pl.col("town")))
SENSITIVE = ["pay", "score", "disease"]


def gate(folder: Path, policy: Any = "open", data: Any = TABLE, **options: Any) -> unveil.Gate:
    place = folder / f"g{len(list(folder.glob('*.db')))}.db"
    return unveil.Gate(data, **{"ledger": place, "policy": policy, "sensitive": SENSITIVE, **options})


QUESTIONS = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t WHERE sex = 'F' AND age BETWEEN 30 AND 50",
    "SELECT COUNT(town) FROM t",
    "SELECT SUM(pay) FROM t WHERE town IN ('a', 'b') OR age > 70",
    "SELECT AVG(pay) FROM t WHERE NOT town = 'a'",
    "SELECT AVG(score) FROM t WHERE town IS NULL",
    "SELECT VARIANCE(pay) FROM t WHERE sex = 'M'",
    "SELECT MIN(pay) FROM t WHERE age < 40",
    "SELECT MAX(score) FROM t WHERE age >= 40 AND town <> 'c'",
    "SELECT COUNT(*) FROM t WHERE disease = 'aids' AND age >= 35",
    "SELECT COUNT(*) FROM t WHERE pay > 5000 OR sex = 'F'",
    "SELECT SUM(age) FROM t WHERE town = 'b'",
    "SELECT AVG(pay) FROM t WHERE age > 200",
    "SELECT SUM(pay) FROM t WHERE age > 200",
]


@pytest.fixture(scope="module")
def relation() -> Any:
    connection = duckdb.connect()
    return connection.from_arrow(TABLE.to_arrow())


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("where", ["in hand", "in DuckDB"])
def test_the_open_gate_answers_what_sql_answers(question: str, where: str, tmp_path: Path, relation: Any) -> None:
    door = gate(tmp_path, data=TABLE if where == "in hand" else relation)
    ((expected,),) = relation.query("t", question).fetchall()
    answer = door.ask(question).value
    if "age > 200" in question:
        assert answer == (0 if "SUM" in question else None)
    else:
        assert answer == pytest.approx(expected)


def test_groups_are_answered_one_by_one(tmp_path: Path, relation: Any) -> None:
    answer = gate(tmp_path).ask("SELECT town, COUNT(*), AVG(pay) FROM t WHERE sex = 'F' GROUP BY town")
    rows = relation.query("t", "SELECT town, COUNT(*), AVG(pay) FROM t WHERE sex = 'F' GROUP BY town").fetchall()
    expected = {town: (n, pytest.approx(pay)) for town, n, pay in rows}
    found: dict[Any, list[Any]] = {}
    for number in answer.numbers:
        found.setdefault(dict(number.statistic.group)["town"], []).append(number.decision.value)
    assert {town: tuple(pair) for town, pair in found.items()} == expected
    assert answer.cost == len(rows) * 2


def test_refused_groups_are_left_out_without_a_trace(tmp_path: Path) -> None:
    answer = gate(tmp_path, Restriction(k=10)).ask("SELECT COUNT(*) FROM t GROUP BY town")
    groups = [dict(number.statistic.group)["town"] for number in answer.numbers]
    assert "d" not in groups
    assert set(groups) >= {"a", "b", "c"}
    assert "'d'" not in str(answer.to_dict())
    assert '"d"' not in str(answer.to_dict())


def test_python_and_sql_ask_the_same(tmp_path: Path) -> None:
    door = gate(tmp_path)
    text = door.ask("SELECT AVG(pay) FROM t WHERE sex = 'F' AND age >= 35 GROUP BY town")
    python = door.ask(queries.average("pay", (col("sex") == "F") & (col("age") >= 35), by="town"))
    assert [one.decision for one in python.numbers] == [one.decision for one in text.numbers]
    assert python.cost == 0
    assert door.ask(queries.total("pay")).value == TABLE["pay"].sum()
    assert door.ask(queries.count()).value == N


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("SELECT AVG(pay) FROM t WHERE pay > 3000", "'pay' is not allowed in the condition"),
        ("SELECT AVG(pay) FROM t WHERE disease = 'flu'", "'disease' is not allowed in the condition"),
        ("SELECT COUNT(*) FROM t GROUP BY disease", "'disease' is not allowed in GROUP BY"),
        ("SELECT COUNT(*) FROM t WHERE name = 'Eve'", "'name' is not allowed in WHERE"),
        ("SELECT AVG(disease) FROM t", "'disease' contains no numbers"),
        ("SELECT AVG(town) FROM t", "'town' contains no numbers"),
        ("SELECT COUNT(*) FROM t WHERE age = 'old'", "'age' contains numbers"),
    ],
)
def test_columns_stand_where_their_roles_allow(question: str, part: str, tmp_path: Path) -> None:
    for policy in ("open", "restriction"):
        with pytest.raises(QuestionError, match=part):
            gate(tmp_path, policy).ask(question)


def test_columns_without_a_role_are_closed(tmp_path: Path) -> None:
    door = gate(tmp_path, key=["age", "sex"], sensitive="pay")
    with pytest.raises(QuestionError, match="'town'"):
        door.ask("SELECT COUNT(*) FROM t WHERE town = 'a'")
    with pytest.raises(QuestionError, match="'score'"):
        door.ask("SELECT AVG(score) FROM t")
    with pytest.raises(QuestionError):
        door.ask(queries.count(col("town") == "a"))


def test_an_equal_set_is_answered_from_the_ledger(tmp_path: Path) -> None:
    door = gate(tmp_path, "restriction")
    first = door.ask("SELECT AVG(pay) FROM t WHERE sex = 'F'", analyst="eve")
    again = door.ask("SELECT AVG(pay) FROM people WHERE NOT sex = 'M' AND age > 1", analyst="bob")
    assert (again.value, again.cost, again.spent) == (first.value, 0, 0)
    assert [entry.decision for entry in door.history()] == ["answered", "repeated"]
    assert door.spent() == {"eve": {"restriction": 1.0}, "*": {"restriction": 1.0}, "bob": {"restriction": 0.0}}


@pytest.mark.parametrize("policy", [Differential(), Sticky(), Camouflage()])
def test_that_two_secret_sets_are_equal_is_not_given_away(policy: Any, tmp_path: Path) -> None:
    """No woman under 18 is in the data: whoever paid nothing for the second count would know that of the sick."""
    door = gate(tmp_path, policy)
    assert door.ask("SELECT COUNT(*) FROM t WHERE disease = 'aids'").cost > 0
    assert door.ask("SELECT COUNT(*) FROM t WHERE disease = 'aids' AND age >= 18").cost > 0
    assert door.ask("SELECT COUNT(*) FROM t WHERE disease = 'aids'").cost == 0


def test_each_column_has_its_own_policy(tmp_path: Path) -> None:
    door = gate(tmp_path, {"*": "restriction", "score": Camouflage(), "disease": Differential(epsilon=0.5)})
    assert door.ask("SELECT AVG(pay) FROM t WHERE sex = 'F'").policy == "restriction"
    assert door.ask("SELECT AVG(score) FROM t WHERE sex = 'F'").low is not None
    assert door.ask("SELECT COUNT(*) FROM t WHERE disease = 'flu'").unit == "rho"
    both = door.ask("SELECT AVG(pay), AVG(score) FROM t WHERE sex = 'M'")
    assert (both.policy, len(both.numbers)) == ("camouflage + restriction", 2)
    with pytest.raises(QuestionError, match="different policies"):
        door.ask("SELECT COUNT(*) FROM t WHERE disease = 'flu' AND score > 0")


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "none"},
        {"policy": {"pay": "restriction"}},
        {"policy": {"*": "open", "town": "open"}},
        {"policy": {"*": Restriction(k=5), "pay": Restriction(k=9)}},
        {"key": ["pay"]},
        {"bounds": {"pay": (5, 1)}},
        {"bounds": {"pay": (0, float("inf"))}},
        {"bounds": {"age": (0, 99)}},
        {"nulls": "category"},
        {"contribution": 0},
        {"sensitive": list(TABLE.columns)},
    ],
)
def test_what_makes_no_gate_is_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ArgumentError):
        gate(tmp_path, **options)


def test_an_analyst_has_a_name(tmp_path: Path) -> None:
    for name in ("", "  ", "*", "x" * 101, "a\nb"):
        with pytest.raises(ArgumentError, match="name"):
            gate(tmp_path).ask("SELECT COUNT(*) FROM t", analyst=name)


def test_nulls_of_a_sensitive_column_are_decided_first(tmp_path: Path) -> None:
    holes = TABLE.with_columns(pay=pl.when(pl.col("age") < 40).then(None).otherwise(pl.col("pay")))
    with pytest.raises(NullsError, match="'pay'"):
        gate(tmp_path, data=holes)
    door = gate(tmp_path, Restriction(k=5), data=holes, nulls="drop")
    answer = door.ask("SELECT AVG(pay) FROM t WHERE age < 41 AND age > 20")
    kept = holes.filter((pl.col("age") < 41) & (pl.col("age") > 20))["pay"].drop_nulls()
    assert (answer.value if len(kept) >= 5 else answer.reason) == (pytest.approx(kept.mean()) if len(kept) >= 5 else "size")
    assert door.ask("SELECT AVG(pay) FROM t WHERE age < 40").reason == "size"  # nobody there has a value


def test_infinite_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedDataError, match="infinite"):
        gate(tmp_path, data=TABLE.with_columns(score=pl.lit(float("inf"))))


def test_explaining_spends_and_writes_nothing(tmp_path: Path) -> None:
    door = gate(tmp_path, Differential(epsilon=0.5, rho=1.0), bounds={"pay": (0, 10_000)})
    found = door.explain("SELECT COUNT(*), SUM(pay), AVG(pay), AVG(score) FROM t", analyst="eve").to_dict()
    assert [row["cost"] for row in found["numbers"]] == [0.125, 0.125, 0.0625, 0.0]
    assert [row["refused"] for row in found["numbers"]] == [None, None, None, "bounds"]
    assert found["numbers"][0]["within_95"] == pytest.approx(2 * np.log(20))
    assert found["budget"]["differential"]["all_limit"] == 1.0
    assert door.history() == []


def test_a_project_describes_a_gate(tmp_path: Path) -> None:
    text = """
[attributes.age]
role = "key"
[attributes.town]
role = "key"
[attributes.pay]
role = "sensitive"
[attributes.disease]
role = "sensitive"
[query]
policy = "restriction"
k = 7
[query.columns.disease]
policy = "differential"
epsilon = 0.2
[query.columns.town]
values = ["a", "b", "z"]
[query.columns.pay]
bounds = [0, 10000]
"""
    (tmp_path / "unveil.toml").write_text(text)
    project = Project.read(tmp_path / "unveil.toml")
    door = open_gate(TABLE, ledger=tmp_path / "g.db", project=project)
    assert door.policies == {"*": Restriction(k=7), "disease": Differential(epsilon=0.2)}
    assert (door.key, door.sensitive) == (("age", "town"), ("pay", "disease"))
    groups = door.ask("SELECT COUNT(*) FROM t WHERE disease = 'flu' GROUP BY town").to_dict()["numbers"]
    assert [number["group"]["town"] for number in groups] == ["a", "b", "z"]
    project.write(tmp_path / "again.toml")
    assert Project.read(tmp_path / "again.toml").query == project.query


PEOPLE = pl.DataFrame(
    {
        "id": range(200),
        "sex": ["F" if at % 2 else "M" for at in range(200)],
        "who": [at // 2 for at in range(200)],
        "home": [at // 4 for at in range(200)],
        "pay": [None if at % 50 == 0 else at for at in range(200)],
        "ill": [("a", "b", "c", "d")[at % 4] for at in range(200)],
    }
)
ROLES = """
[data]
path = "p.csv"
[attributes]
id.role = "identifier"
who.role = "person"
home.role = "household"
pay.role = "sensitive"
ill.role = "sensitive"
"""
SECTION = """
[query]
policy = "differential"
epsilon = 0.1
nulls = "drop"
contribution = 2
dialect = "postgres"
[query.columns.pay]
bounds = [0, 200]
[query.columns.sex]
values = ["F", "M", "X"]
"""


def projected(folder: Path, section: str, roles: str = ROLES) -> dict[str, Any]:
    """Return the doors through which a project and its data reach a gate."""
    PEOPLE.write_csv(folder / "p.csv")
    (folder / "unveil.toml").write_text(roles + section)
    project = Project.read(folder / "unveil.toml")
    return {
        "file": str(project.path), "project": project, "study": unveil.Study.of(project.path),
        "beside": unveil.Study(PEOPLE, project=project.path),
    }  # fmt: skip


@pytest.mark.parametrize("door", ["file", "project", "study", "beside"])
def test_a_gate_is_as_its_project_says_through_every_door(door: str, tmp_path: Path) -> None:
    data = projected(tmp_path, SECTION)[door]
    opened = unveil.Gate(data, ledger=tmp_path / "g.db")
    assert opened.policies == {"*": Differential(epsilon=0.1)}
    assert (opened.key, opened.sensitive) == (("sex",), ("pay", "ill"))
    assert (opened._holding.person, opened._holding.contribution) == ("who", 2)
    groups = opened.ask("SELECT COUNT(*) FROM p GROUP BY sex").to_dict()["numbers"]
    assert [number["group"]["sex"] for number in groups] == ["F", "M", "X"]
    assert opened.explain("SELECT SUM(pay) FROM p").rows[0]["refused"] is None  # bounded, and without the nulls
    described = open_gate(data, ledger=tmp_path / "h.db")
    assert (described.policies, described.key, described.sensitive) == (opened.policies, opened.key, opened.sensitive)


def test_what_a_call_says_takes_precedence_over_the_project_of_a_gate(tmp_path: Path) -> None:
    data = projected(tmp_path, SECTION)["study"]
    door = unveil.Gate(
        data, ledger=tmp_path / "g.db", policy="restriction", key="home", contribution=1, person="id", bounds={"pay": (0, 300)}
    )
    assert (door.policies, door.key) == ({"*": Restriction()}, ("home",))
    assert (door._holding.person, door._holding.contribution, door._holding.bounds) == ("id", 1, {"pay": (0.0, 300.0)})
    with pytest.raises(NullsError):
        unveil.Gate(data, ledger=tmp_path / "h.db", nulls="error")
    same = unveil.Gate(data, ledger=tmp_path / "i.db", policy="differential")
    assert same.policies == {"*": Differential(epsilon=0.1)}


def test_a_gate_without_a_key_asks_about_nobody_by_name(tmp_path: Path) -> None:
    for at, data in enumerate(projected(tmp_path, '[query]\nnulls = "drop"\n').values()):
        door = unveil.Gate(data, ledger=tmp_path / f"{at}.db")
        for name in ("id", "who", "home"):
            with pytest.raises(QuestionError, match=f"'{name}' is not allowed in WHERE"):
                door.ask(f"SELECT COUNT(*) FROM p WHERE {name} < 100")
    named = unveil.Study(PEOPLE.select("id", "who", "ill"), identifiers="id", person="who", sensitive="ill")
    nobody: list[str] = []
    for key in (None, nobody):
        with pytest.raises(ArgumentError, match="no column is left for conditions"):
            unveil.Gate(named, ledger=tmp_path / "none.db", key=key)


def test_settings_without_a_policy_are_those_of_the_usual_one(tmp_path: Path) -> None:
    for at, data in enumerate(projected(tmp_path, '[query]\nnulls = "drop"\nk = 150\n').values()):
        door = unveil.Gate(data, ledger=tmp_path / f"{at}.db")
        assert door.policies == {"*": Restriction(k=150)}
        assert door.ask("SELECT COUNT(*) FROM p WHERE sex = 'F'").reason == "size"
        assert unveil.Gate(data, ledger=tmp_path / f"{at}r.db", policy="restriction").policies == {"*": Restriction(k=150)}
        assert unveil.Gate(data, ledger=tmp_path / f"{at}s.db", policy="sticky").policies == {"*": Sticky()}
    wrong = projected(tmp_path, '[query]\nnulls = "drop"\nepsilon = 0.5\n')["file"]
    with pytest.raises(ArgumentError, match="no setting 'epsilon'"):
        unveil.Gate(wrong, ledger=tmp_path / "wrong.db")


def test_undeclared_groups_of_private_answers_are_refused(tmp_path: Path) -> None:
    assert gate(tmp_path, Differential()).ask("SELECT COUNT(*) FROM t GROUP BY town").reason == "group-keys"


def test_a_question_is_refused_as_a_whole_where_the_budget_covers_a_part(tmp_path: Path) -> None:
    door = gate(tmp_path, Differential(epsilon=0.5, rho=0.3, analyst_rho=0.3))
    answer = door.ask("SELECT COUNT(*), COUNT(sex), COUNT(age) FROM t WHERE age > 20")
    assert (answer.reason, answer.cost) == ("budget", 0)
    assert door.ask("SELECT COUNT(*), COUNT(sex) FROM t WHERE age > 20").cost == 0.25
    assert door.ask("SELECT COUNT(*) FROM t WHERE age > 21").reason == "budget"
    assert door.ask("SELECT COUNT(*) FROM t WHERE age > 20").answered  # it was answered before


def test_results_show_themselves(tmp_path: Path) -> None:
    door = gate(tmp_path, "restriction")
    for answer in (
        door.ask("SELECT AVG(pay) FROM t WHERE sex = 'F'"),
        door.ask("SELECT AVG(pay) FROM t WHERE age = 200"),
        door.ask("SELECT COUNT(*) FROM t GROUP BY town"),
        door.explain("SELECT COUNT(*) FROM t"),
        door.attack(),
    ):
        assert "\n" not in repr(answer)
        assert "<" in answer._repr_html_()
        assert answer.to_frame() is not None
        assert isinstance(answer.to_dict(), dict)


def test_what_exact_answers_leave_is_what_linear_programming_says(tmp_path: Path) -> None:
    small = pl.DataFrame({"id": range(6), "pay": [0.0, 10.0, 20.0, 30.0, 40.0, 100.0]})
    door = unveil.Gate(small, ledger=tmp_path / "g.db", policy="open", sensitive="pay", bounds={"pay": (0, 100)})
    door.ask("SELECT SUM(pay) FROM t WHERE id < 2")
    door.ask("SELECT SUM(pay) FROM t WHERE id IN (4, 5)")
    door.ask("SELECT SUM(pay) FROM t WHERE id = 3")
    (found,) = door.attack().columns_
    assert np.round(found.low).tolist() == [0, 0, 0, 30, 40, 40]
    assert np.round(found.high).tolist() == [10, 10, 100, 30, 100, 100]
    assert found.determined == 1
    assert found.rates[2] == 0.0
    assert found.rates[3] == 1.0


def test_extremes_bound_everybody_in_their_set(tmp_path: Path) -> None:
    """MAX over {0, 1, 2} is 30 and MIN over {1, 2, 3} is 20; the sum of all pins the last one down; MAX of one is its value."""
    table = pl.DataFrame({"id": [0, 1, 2, 3, 4], "pay": [10.0, 20.0, 30.0, 60.0, 5.0]})
    door = unveil.Gate(table, ledger=tmp_path / "g.db", policy="open", sensitive="pay", bounds={"pay": (0.0, 100.0)})
    for text in ("MAX(pay) FROM t WHERE id < 3", "MIN(pay) FROM t WHERE id BETWEEN 1 AND 3", "MAX(pay) FROM t WHERE id = 4"):
        door.ask(f"SELECT {text}")
    (found,) = door.attack().columns_
    order = np.lexsort((found.high, found.low))
    assert found.low[order] == pytest.approx([0, 5, 20, 20, 20])
    assert found.high[order] == pytest.approx([30, 5, 30, 30, 100])
    door.ask("SELECT SUM(pay) FROM t")
    (found,) = door.attack().columns_
    assert found.low.max() == pytest.approx(30.0)  # 125 - 30 - 30 - 30 - 5: what is left for the one without a bound


def test_a_number_that_is_refused_beside_others_says_why(tmp_path: Path) -> None:
    answer = gate(tmp_path, Restriction(k=5)).ask("SELECT COUNT(*), AVG(pay), MAX(pay) FROM t WHERE sex = 'F'")
    assert [(one["answered"], one["reason"]) for one in answer.to_dict()["numbers"]] == [
        (True, None),
        (True, None),
        (False, "aggregate"),
    ]
    assert answer.cost == 2


def test_no_group_and_only_small_groups_look_alike(tmp_path: Path) -> None:
    door = gate(tmp_path, Restriction(k=10))
    answers = [door.ask(f"SELECT COUNT(*) FROM t WHERE age = {age} GROUP BY town") for age in (200, 45)]
    shown = [{name: value for name, value in answer.to_dict().items() if name != "spent"} for answer in answers]
    assert shown[0] == shown[1]
    assert [number.statistic.group for answer in answers for number in answer.numbers] == [(), ()]


def test_threads_that_ask_and_explain_share_one_audit(tmp_path: Path) -> None:
    door = gate(tmp_path, Restriction(k=5))
    large, small = (
        "SELECT SUM(score) FROM t WHERE age < 50",
        "SELECT SUM(score) FROM t WHERE age < 50 AND NOT (age = {} AND sex = 'F')",
    )
    with ThreadPoolExecutor(8) as pool:
        texts = [large, *(small.format(age) for age in range(18, 40))]
        asked = [pool.submit(door.ask, text) for text in texts]
        explained = [pool.submit(door.explain, text) for text in texts]
        for one in explained:
            one.result()
        answered = [text for text, one in zip(texts, asked, strict=True) if one.result().answered]
    fresh = gate(tmp_path / "..", Restriction(k=5), ledger=tmp_path / "again.db")
    assert all(fresh.ask(text).answered for text in answered)
    assert door.ledger.verify()["rows"] == len(texts)


@pytest.mark.filterwarnings("error")
def test_numbers_too_large_to_be_squared_add_up_and_have_no_variance(tmp_path: Path) -> None:
    large = pl.DataFrame({"size": [1e200, 3e200, 2e200], "pay": [1, 2, 3]})
    door = unveil.Gate(large, ledger=tmp_path / "g.db", policy="open", sensitive="pay")
    assert door.ask("SELECT SUM(size) FROM t").value == 6e200
    assert door.ask("SELECT VARIANCE(size) FROM t").value is None
    door = unveil.Gate(large, ledger=tmp_path / "h.db", policy="open", sensitive="size")
    assert door.ask("SELECT SUM(size) FROM t").value == 6e200
    assert door.ask("SELECT VARIANCE(size) FROM t").value is None
