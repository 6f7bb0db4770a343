"""Text in HTML: it is shown, and never acts."""

from __future__ import annotations

from html import escape

from secretballot._tables import visible


def html_text(text: str) -> str:
    """Return text as HTML that shows it, also within the quotes of an attribute."""
    return escape(visible(text), quote=True)
