"""What a result looks like as a page that stands alone.

One HTML5 file: nothing is fetched, no script runs. Its content security policy allows one thing, the page's own style
sheet, named by its hash; so whatever a data value holds, a browser does not run, load or style by it.
"""

from __future__ import annotations

import base64
import hashlib
import html

from unveil import __version__
from unveil.results import Result, View

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


def page(shown: View | Result) -> str:
    """Return a complete HTML page that shows a result.

    Parameters
    ----------
    shown
        A result, or what to show of one.

    Returns
    -------
    str
        An HTML5 document, to be stored as UTF-8. The same view gives the same page.
    """
    from unveil.results._render import html_parts, visible

    view = shown.view() if isinstance(shown, Result) else shown
    fragment_css, markup = html_parts(view, level=1)
    css = f"\n{fragment_css}{_CSS}"
    made_by = f"unveil {__version__}"
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(css)}">
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
<footer>Made by {made_by}</footer>
</body>
</html>
"""


def _policy(css: str) -> str:
    """Allow the style sheet by its hash, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
