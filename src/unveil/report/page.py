"""A result as a self-contained page.

One HTML5 file: nothing is fetched. Its content security policy allows two things, each identified by its hash: the page's own
style sheet, and its script, which sorts tables and opens definitions for printing. So whatever a data value contains, a browser
does not run it, load anything for it or style anything by it.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence

from unveil import __version__
from unveil.errors import listed
from unveil.results import Result, View
from unveil.run import looks

__all__ = ["page"]

_CSS = """\
:root { color-scheme: light dark; --ground: #fdfdfc; --text: #1c1e21; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main, footer { max-width: 66rem; margin: 0 auto; padding: 2.2rem 1.5rem 0; box-sizing: border-box; }
footer { padding-bottom: 2.2rem; font-size: 0.8rem; opacity: 0.7; }
.unveil-view .unveil-title { font-size: 1.75rem; }
/* A shade at the side where a wide table goes on; the ground covers it where the table ends. */
.unveil-view .unveil-scroll { background:
  linear-gradient(to right, var(--ground) 40%, transparent) left / 2.5rem 100% no-repeat local,
  linear-gradient(to left, var(--ground) 40%, transparent) right / 2.5rem 100% no-repeat local,
  linear-gradient(to right, rgba(128, 128, 128, 0.45), transparent) left / 0.8rem 100% no-repeat scroll,
  linear-gradient(to left, rgba(128, 128, 128, 0.45), transparent) right / 0.8rem 100% no-repeat scroll; }
.unveil-view th[aria-sort] { cursor: pointer; }
.unveil-view th[aria-sort=ascending]::after { content: " \\25b2"; font-size: 0.7em; }
.unveil-view th[aria-sort=descending]::after { content: " \\25bc"; font-size: 0.7em; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181b; --text: #e4e6e8; } }
@media (max-width: 40em) {
  main, footer { padding: 1.2rem 1rem 0; }
  footer { padding-bottom: 1.2rem; }
  .unveil-view .unveil-title { font-size: 1.4rem; }
}
@media print {
  @page { margin: 16mm 14mm; }
  :root { color-scheme: light; --ground: #fff; --text: #000; }
  body { font-size: 10.5pt; }
  .unveil-view .unveil-scroll { background: none; }
  main, footer { max-width: none; padding: 0; }
  footer { padding-top: 1.2rem; }
}
"""

# A click on a header, or Enter, sorts its table: numbers as numbers, the rest as text, missing values last.
_SCRIPT = """
for (const head of document.querySelectorAll("thead")) {
  const body = head.parentNode.tBodies[0];
  if (body.rows.length < 2) continue;
  for (const title of head.querySelectorAll("th")) {
    const numeric = title.classList.contains("unveil-number");
    const value = row => {
      const text = row.cells[title.cellIndex].textContent;
      if (!numeric) return text;
      return text === "-" ? NaN : parseFloat(text.replace(/[,<>]/g, "").replace("\u221e", "Infinity"));
    };
    const compare = (a, b) => numeric ? a - b : a.localeCompare(b, "en", {numeric: true});
    const sort = () => {
      const falling = title.getAttribute("aria-sort") === (numeric ? "none" : "ascending")
        || (numeric && title.getAttribute("aria-sort") === "ascending");
      for (const other of head.querySelectorAll("th")) other.setAttribute("aria-sort", "none");
      title.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const missing = row => numeric && Number.isNaN(value(row));
      const order = (a, b) => missing(a) - missing(b) || (falling ? -1 : 1) * compare(value(a), value(b)) || 0;
      body.append(...[...body.rows].sort(order));
    };
    title.setAttribute("aria-sort", "none");
    title.tabIndex = 0;
    title.addEventListener("click", sort);
    title.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
  }
}
"""


# On paper nothing can be clicked: definitions are open while the page is printed.
_SCRIPT += """
const closed = new Set();
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not([open])")) { closed.add(one); one.open = true; }
});
addEventListener("afterprint", () => { for (const one of closed) one.open = false; closed.clear(); });
"""


@looks
def page(shown: View | Result, *, made_on: str = "", made_from: Sequence[str] = ()) -> str:
    """Return a complete HTML page that shows a result.

    Parameters
    ----------
    shown
        A view, or a result, which is masked unless it comes from `displayed(unmasked=True)`.
    made_on, made_from
        The day, and the names of its inputs, for the foot of the page.

    Returns
    -------
    str
        An HTML5 document, to be stored as UTF-8. The same view, day and names yield the same page.
    """
    from unveil.formats import visible
    from unveil.results import html_parts

    view = shown.displayed().view() if isinstance(shown, Result) else shown
    fragment_css, markup = html_parts(view, level=1)
    css = f"\n{fragment_css}{_CSS}"
    made_by = f"unveil {__version__}"
    foot = f"Made by {made_by}{f' on {made_on}' if made_on else ''}{f' from {listed(made_from)}' if made_from else ''}"
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(css, _SCRIPT)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="generator" content="{made_by}">
<title>{html.escape(visible(view.title))}</title>
<style>{css}</style>
</head>
<body>
<main class="unveil-view">
{markup}</main>
<footer>{html.escape(visible(foot))}</footer>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _policy(css: str, script: str) -> str:
    """Allow the style sheet and the script by their hashes, and nothing else."""
    style, code = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script))
    return f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{code}'; base-uri 'none'; form-action 'none'"
