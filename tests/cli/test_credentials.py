"""Passwords in addresses, however mistyped and wherever they stand: no message, answer or report repeats them."""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import unveil
from unveil.cli import run
from unveil.credentials import hidden_in_message, without_credentials
from unveil.errors import DataNotFoundError, UnveilError, listed, shown
from unveil.project import DataSection
from unveil.report import page, write

SECRET = "hunter2"  # noqa: S105 - the one that must not be seen
KEPT = [
    "people.csv", "/data/2024/people.csv", "postgresql://host:5432/people?table=t", "duckdb:///a/b.db?table=t", "C:\\data\\a.csv",
    "spark://local[2]?path=/x", "s3://bucket/a.parquet", "zip", "a@b", "note: a@b", "k=5", "age=20:30", "1:2", "//server/share/a.csv",
]  # fmt: skip


def shapes() -> st.SearchStrategy[str]:
    """Addresses with a password, right or mistyped."""
    scheme = st.sampled_from(
        ["postgresql", "postgres", "POSTGRESQL", "postgress", "mysql", "duckdb", "spark", "jdbc:postgresql", ""]
    )
    joint = st.sampled_from(["://", "//", ":/", ":", ":///", " ://", ": //", ";//", ":\\\\", "\\\\", "::/"])
    user = st.sampled_from(["me", "me@corp", "", "a b"])
    password = st.sampled_from(
        [
            SECRET,
            f"{SECRET}/x",
            f"x/{SECRET}",
            f"{SECRET}@x",
            f"x.{SECRET}",
            f"x={SECRET}",
            f"{SECRET}?a",
            f"x y{SECRET}",
            f"{SECRET}#",
            "9" * 90 + SECRET,
        ]
    )
    host = st.sampled_from(["h", "127.0.0.1:1", "h.example.org"])
    rest = st.sampled_from(["/d?table=t", "/d", "", "/d.csv", "/d.duckdb?table=t", "/d.toml"])
    blank = st.sampled_from(["", " "])
    full = st.builds(
        lambda b, s, j, u, p, h, r: f"{b}{s}{j}{u}:{p}@{h}{r}", blank, scheme, joint, user, password, host, rest
    )  # fmt: skip
    setting = st.builds(
        lambda s, j, h, name, p, more: f"{s}{j}{h}/d?table=t&{name}={p}{more}", scheme, joint, host,
        st.sampled_from(["password", "PASSWORD", "sslpassword", "pwd"]), st.just(SECRET), st.sampled_from(["", "&a=b", "&user=x@y"]),
    )  # fmt: skip
    pairs = st.sampled_from(
        [f"host=h user=me password={SECRET}", f"password='x {SECRET}' host=h dbname=d", f"dbname=d password = {SECRET}"]
    )
    return st.one_of(full, setting, pairs)


DOORS: list[Callable[[str], list[str]]] = [
    lambda a: ["dr", a, "--key", "x"],
    lambda a: ["measure", "paper-2", "--key", a],
    lambda a: ["measure", "paper-2", "--key", "Age*", "--sensitive", a],
    lambda a: ["measure", "paper-2", "--key", "Age*", "--population", a],
    lambda a: ["measure", "paper-2", "--key", "Age*", "--hierarchy", f"Disease={a}"],
    lambda a: ["measure", "paper-2", "--key", "Age*", "--k", a],
    lambda a: ["measure", "paper-2", "--key", "Age*", "--threshold", a],
    lambda a: ["measure", "paper-2", "--key", "Age*", "--nulls", a],
    lambda a: ["measure", "paper-2", "--key", "Age*", "--partition", a],
    lambda a: ["dr", "paper-2", "--key", "Age*", "--out", a],
    lambda a: ["dr", "paper-2", "--key", "Age*", f"--out={a}"],
    lambda a: ["dr", "--project", a],
    lambda a: ["dr", "paper-2", "--separator", a, "--key", "Age*"],
    lambda a: ["dr", "paper-2", "--encoding", a, "--key", "Age*"],
    lambda a: ["dr", "paper-2", a],
    lambda a: [a],
    lambda a: ["dr", "paper-2", f"--{a}"],
    lambda a: ["attack", "paper-4", a, "--same-order"],
    lambda a: ["attack", "paper-4", "paper-3", "--link", a],
    lambda a: ["compare", "paper-4", f"one={a}", "--key", "Age"],
    lambda a: ["compare", "paper-4", a, "--key", "Age"],
    lambda a: ["anonymize", "paper-4", "--key", "Age", "--k", "2", "--out", a],
    lambda a: ["anonymize", "paper-4", "--key", "Age", "--k", "2", "--link", a],
    lambda a: ["anonymize", "paper-4", "--key", "Age", "--k", "2", "--level", a],
    lambda a: ["anonymize", "paper-4", "--key", "Age", "--k", "2", "--hierarchy-dir", a],
    lambda a: ["anonymize", "paper-4", "--key", "Age", "--k", "2", "--pseudonymize", "Name", "--key-file", a],
    lambda a: ["anonymize", "paper-4", "--mechanism", a],
    lambda a: ["anonymize", "paper-4", "--mechanism", "sample", "--set", f"size={a}"],
    lambda a: ["assess", "paper-4", "--key", "Age", "--key-file", a],
    lambda a: ["check", "paper-4", "--policy", a, "--key", "Age"],
    lambda a: ["check", "paper-4", "--policy", "cell-size-5", "--key", "Age", "--baseline", a],
    lambda a: ["hierarchy", "check", a],
    lambda a: ["hierarchy", "build", "paper-4", "--column", "Age", "--out", a],
    lambda a: ["init", a],
    lambda a: ["scan", "paper-4", "--key", "Age", "--checkpoint", a],
]


@contextlib.contextmanager
def _heard() -> Iterator[io.StringIO]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        yield printed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("credentials")


@pytest.mark.parametrize("door", DOORS, ids=lambda door: " ".join(door("...")))
def test_no_verb_repeats_a_password(door: Callable[[str], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = DOORS.index(door)
    for address in (TYPED[(first + step) % len(TYPED)] for step in (0, 5, 9)):
        with _heard() as printed:
            run(door(address))
        assert SECRET not in printed.getvalue(), address


TYPED = [
    f"postgresql//u:{SECRET}@h/db", f"postgresql:/u:{SECRET}@h/db", f"postgresql:u:{SECRET}@h/db", f"postgress://u:{SECRET}@h/db",
    f" postgresql://u:{SECRET}@h/db?table=t", f"POSTGRESQL//u:{SECRET}@h/db.csv", f"mysql://u:x.{SECRET}@h", f"u:{SECRET}@h/db",
    f"postgresql//u:x {SECRET}@h/db", f"postgresql//u:x={SECRET}@h/db.toml", f"postgresql//u:x/{SECRET}@h/db", f"x//h/db?password={SECRET}",
    f"postgresql//u:{SECRET}/db", "postgresql//u:" + "9" * 90 + f"{SECRET}@h/db",
]  # fmt: skip


@given(shapes())
@example(f"postgresql//u:{SECRET}@h/db")
def test_no_name_keeps_a_password(address: str) -> None:
    assert SECRET not in without_credentials(address)
    assert SECRET not in shown(address)
    assert SECRET not in listed([address, "x"])
    message = f"column {shown(address)} not found"
    assert SECRET not in hidden_in_message(f"{message}; {address} is no file", [address])


@given(shapes())
def test_no_error_of_the_library_repeats_a_password(address: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: unveil.count(address, ["a"]),
        lambda: unveil.discrimination_rate("paper-2", key=address),
        lambda: unveil.Project.read(address),
        lambda: unveil.Hierarchy.read(address, "a"),
        lambda: write(unveil.discrimination_rate("paper-2", key="Age*"), Path("/nowhere") / address),
    ]
    for call in calls:
        with pytest.raises((UnveilError, OSError)) as failure:
            call()
        assert SECRET not in str(failure.value)
        assert SECRET not in repr(failure.value)


@settings(max_examples=20)  # each runs a verb
@given(shapes())
def test_a_project_file_with_a_mistyped_address_is_not_quoted(folder: Path, address: str) -> None:
    project = folder / "unveil.toml"
    written = address.replace("\\", "\\\\").replace('"', '\\"')
    project.write_text(f'[data]\npath = "{written}"\n[attributes.a]\nrole = "key"\n', "utf-8")
    with _heard() as printed:
        assert run(["dr", "--project", str(project)]) == 2
    assert SECRET not in printed.getvalue()


@pytest.mark.parametrize("name", KEPT)
def test_what_holds_no_credentials_is_named_as_it_is(name: str) -> None:
    assert without_credentials(name) == name
    assert hidden_in_message(f"{name}: there is no such file.") == f"{name}: there is no such file."


def test_a_place_with_a_colon_and_an_at_sign_is_named_without_what_lies_between(tmp_path: Path) -> None:
    odd = tmp_path / f"u:{SECRET}@h.csv"
    odd.write_text("a,b\n" + "1,x\n2,y\n" * 6, "utf-8")
    found = unveil.assess(odd, "a", "b")
    told = f"{found!r} {found.to_dict()} {page(found)} {unveil.start_project(odd).to_dict()}"
    assert SECRET not in told
    assert "***@h.csv" in told


def test_a_report_that_goes_to_such_a_place_is_said_to_be_written_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with _heard() as printed:
        assert run(["dr", "paper-2", "--key", "Age*", "--out", f"pg:u:{SECRET}@h.json"]) == 0
    assert printed.getvalue() == "written: pg:***@h.json\n"


def test_a_project_shows_itself_without_it() -> None:
    section = DataSection(path=f"postgresql://u:{SECRET}@h/d?table=t")
    assert repr(section).startswith("DataSection(path='postgresql://***@h/d?table=t', ")
    assert SECRET not in repr(unveil.Project(Path("unveil.toml"), section))


def test_an_error_can_be_sent_to_another_process() -> None:
    error = DataNotFoundError(f"pg//u:{SECRET}@h: there is no such file.")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert str(again) == str(error) == "pg//***@h: there is no such file."


def test_a_user_with_the_name_of_the_program_hides_no_hint() -> None:
    words = ["anonymize", "postgresql://unveil:hunter2@h/d?table=t", "--key", "a"]
    said = "column 'unveil' not found in 'postgresql://unveil:hunter2@h/d?table=t'. Hint: unveil init 'hunter2' starts a project"
    masked = hidden_in_message(said, words)
    assert masked == "column '***' not found in 'postgresql://***@h/d?table=t'. Hint: unveil init '***' starts a project"
