from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import unveil
from unveil.report import page
from unveil.results import Figure, Result, Table, View

VIEW = View(
    title="Rates of <b>patients</b> & co",
    figures=(Figure("records", 9),),
    tables=(Table(("value", "DR"), (("<img src=x onerror=alert(1)>", 0.75), ("👩\u200d⚕️ été", 1.0)), bars=frozenset({"DR"})),),
    notes=("</main><script>alert(1)</script>",),
)


class Answer(Result):
    def view(self) -> View:
        return VIEW


class Outline(HTMLParser):
    """Collects the elements with their attributes, and whether they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outline(html: str) -> Outline:
    found = Outline()
    found.feed(html)
    found.close()
    return found


def metas(html: str) -> dict[str, str | None]:
    elements = [attributes for tag, attributes in outline(html).elements if tag == "meta"]
    return {str(meta.get("name") or meta.get("http-equiv") or "charset"): meta.get("content") for meta in elements}


def test_page_is_a_whole_document() -> None:
    html = page(VIEW)
    found = outline(html)
    tags = [tag for tag, _ in found.elements]
    assert html.startswith("<!doctype html>\n")
    assert found.open == []
    assert [tags.count(tag) for tag in ("html", "head", "title", "style", "body", "main", "h1", "footer")] == [1] * 8
    assert html.index("<meta charset") < 200


def test_page_of_a_result_is_the_page_of_its_view() -> None:
    assert page(Answer()) == page(VIEW)


def test_page_escapes_data() -> None:
    html = page(VIEW)
    tags = [tag for tag, _ in outline(html).elements]
    assert not set(tags) & {"img", "b"}
    assert tags.count("script") == 1  # the page's own
    assert "<title>Rates of &lt;b&gt;patients&lt;/b&gt; &amp; co</title>" in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "👩\u200d⚕️ été" in html


def test_page_allows_only_its_own_style_and_script() -> None:
    html = page(VIEW)
    policy = metas(html)["Content-Security-Policy"] or ""
    own = {tag: re.search(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL) for tag in ("style", "script")}
    hashes = {tag: base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode() for tag, found in own.items() if found}
    assert policy.split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{hashes['style']}'",
        f"script-src 'sha256-{hashes['script']}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert "unsafe" not in policy
    assert not any("style" in attributes for _, attributes in outline(html).elements)


def test_page_fetches_nothing() -> None:
    html = page(VIEW)
    names = {name for _, attributes in outline(html).elements for name in attributes}
    assert not names & {"src", "href", "action", "data", "srcset"}
    assert "url(" not in html
    assert "@import" not in html
    assert "http:" not in html
    assert "https:" not in html


def test_page_suits_telephones_paper_and_the_dark() -> None:
    html = page(VIEW)
    assert metas(html)["viewport"] == "width=device-width, initial-scale=1"
    assert metas(html)["color-scheme"] == "light dark"
    assert "@media print" in html
    assert "@media (prefers-color-scheme: dark)" in html


def test_page_says_what_made_it_and_is_not_to_be_indexed() -> None:
    html = page(VIEW)
    assert metas(html)["generator"] == f"unveil {unveil.__version__}"
    assert f"Made by unveil {unveil.__version__}" in html
    assert metas(html)["robots"] == "noindex"
