"""Style of views in HTML, for light and dark themes.

Text inherits its colour, lines and backgrounds are transparent grey, and the one colour is
scikit-learn's for fitted estimators. The class is repeated three times to override the rules of
notebooks and themes for tables.
"""

from __future__ import annotations

_VIEW = ".sb-view.sb-view.sb-view"
_LINE = "1px solid rgba(128,128,128,.35)"
_COLOR = "var(--sklearn-color-fitted-level-3,cornflowerblue)"

_RULES = {
    "": "box-sizing:border-box;width:fit-content;max-width:100%;margin:.5em 0;padding:.5em .8em;"
    f"border:{_LINE};border-radius:.35em;color:inherit;background:transparent;"
    "font-size:.875rem;line-height:1.45;overflow-x:auto",
    " p": "margin:.3em 0!important;max-width:46rem;color:inherit;overflow-wrap:anywhere",
    " .sb-title": "margin:0 0 .3em!important",
    " .sb-quiet": "opacity:.72",
    " h3": "margin:.9em 0 .2em;padding:0;border:0;font-size:1em;font-weight:600;color:inherit",
    " ul": "margin:.3em 0;padding-left:1.2em;max-width:46rem",
    " li": "margin:.15em 0;overflow-wrap:anywhere",
    " dl": "margin:.3em 0;max-width:46rem",
    " dt": "margin:.5em 0 0;font-weight:600;color:inherit",
    " dd": "margin:0;overflow-wrap:anywhere;color:inherit",
    " .sb-blanks": "margin:.8em 0;max-width:30rem",
    " .sb-blanks p": "display:flex;gap:1em;margin:.9em 0!important",
    " .sb-blanks span:first-child": "flex:0 0 7em",
    " .sb-blanks span:last-child": f"flex:1;border-bottom:{_LINE}",
    " summary": "cursor:pointer;opacity:.72",
    " table": "display:table;width:auto;min-width:0;margin:.3em 0;border:0;border-collapse:"
    "collapse;background:transparent;color:inherit;font-size:1em;table-layout:auto;"
    "box-shadow:none",
    " tr": "background:transparent;border:0",
    " :is(th,td)": "padding:.18em 1.1em .18em 0;border:0;background:transparent;color:inherit;"
    "text-align:left;vertical-align:middle;white-space:nowrap;font-weight:normal;max-width:none",
    " :is(th,td):last-child": "padding-right:0",
    " :is(thead th,th[scope=row])": "opacity:.72",
    " thead th": f"border-bottom:{_LINE}",
    " .sb-number": "text-align:right;font-variant-numeric:tabular-nums",
    " .sb-long": "white-space:normal;min-width:16em;max-width:26em;overflow-wrap:anywhere",
    " .sb-bar": "display:flex;width:14em;height:.7em;border-radius:.35em;overflow:hidden;"
    "background:rgba(128,128,128,.2)",
    " .sb-bar span": "display:block;flex:none;height:100%",
    " .sb-key": "display:inline-block;width:.7em;height:.7em;margin-right:.35em;"
    "border-radius:.15em;background:rgba(128,128,128,.2)",
    " .sb-bar .sb-empty": "background:transparent",
    " .sb-spent": "background:rgba(128,128,128,.65)",
    " .sb-this": f"background:{_COLOR}",
    " .sb-shade": "display:block;padding:.1em .5em;border-radius:.2em",
}

STYLE = "".join(f"{_VIEW}{part}{{{rule}}}" for part, rule in _RULES.items())
