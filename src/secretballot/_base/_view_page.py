"""Page of a view: a whole file of HTML, to be shown, printed and kept."""

from __future__ import annotations

from secretballot._base._view import View
from secretballot._base._view_cells import html_text

#: A page loads nothing and runs nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_VIEW = "main .sb-view.sb-view.sb-view"

_STYLE = (
    ":root{color-scheme:light}"
    "body{margin:0;background:#fff;color:#1b1b1b;"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}"
    "main{box-sizing:border-box;max-width:54rem;margin:0 auto;padding:1.5rem 1rem}"
    f"{_VIEW}{{width:auto;margin:0;padding:0;border:0;font-size:1rem}}"
    f"{_VIEW} .sb-title{{font-size:1.6rem}}"
    f"{_VIEW} h3{{margin-top:1.4em;font-size:1.1rem}}"
    f"{_VIEW} :is(p,ul,dl){{max-width:none}}"
    f"@media (max-width:45rem){{{_VIEW} table{{display:block;overflow-x:auto;font-size:.74rem}}"
    f"{_VIEW} :is(th,td){{white-space:normal;padding-right:.5em}}}}"
    # On paper nothing can be scrolled, and what belongs together stays on one page.
    "@page{margin:18mm}"
    "@media print{main{max-width:none;padding:0}"
    f"{_VIEW}{{overflow:visible;font-size:10.5pt}}"
    f"{_VIEW} :is(th,td){{white-space:normal;padding-right:.7em;overflow-wrap:anywhere}}"
    f"{_VIEW} :is(li,dd,tr,.sb-blanks){{break-inside:avoid}}"
    f"{_VIEW} :is(h3,dt){{break-after:avoid}}}}"
)


def html_page(view: View) -> str:
    """Return a self-contained page that shows a view, escaped."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html_text(view.title)}</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>{view.html}</main>\n</body>\n</html>\n"
    )
