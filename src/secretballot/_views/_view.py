"""A description from which text and HTML are made, so that they say the same."""

from __future__ import annotations

from dataclasses import dataclass

from secretballot._views._escape import html_text
from secretballot._views._parts import Part
from secretballot._views._style import STYLE


@dataclass(frozen=True, repr=False)
class View:
    """What is shown of an object: print it, or let a notebook show it.

    Attributes
    ----------
    title : str
        What HTML begins with: the kind of the object.
    parts : tuple of Part
        What is said of it.
    about : str
        What HTML says beside the title.
    between : str
        What stands between parts in text.
    """

    title: str
    parts: tuple[Part, ...]
    about: str = ""
    between: str = "\n\n"

    @property
    def text(self) -> str:
        """The parts as text."""
        return self.between.join(text for part in self.parts if (text := part.text))

    @property
    def html(self) -> str:
        """A fragment of HTML, escaped, with its style."""
        about = f' <span class="sb-quiet">{html_text(self.about)}</span>' if self.about else ""
        shown = "".join(part.html for part in self.parts)
        title = f'<p class="sb-title"><strong>{html_text(self.title)}</strong>{about}</p>'
        return f'<style>{STYLE}</style><div class="sb-view">{title}{shown}</div>'

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html


class Shown:
    """Is printed as text, and shown as HTML in a notebook, both from one description."""

    def _view(self) -> View:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._view().text

    def _repr_html_(self) -> str:
        return self._view().html
