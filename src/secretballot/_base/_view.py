"""Views: one description of an object, for text and for HTML."""

from __future__ import annotations

from dataclasses import dataclass

from secretballot._base._style import STYLE
from secretballot._base._view_cells import html_text
from secretballot._base._view_parts import Part


class Shown:
    """Mixin that prints an object's view, and shows it as HTML in a notebook."""

    def _view(self) -> View:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._view().text

    def _repr_html_(self) -> str:
        return self._view().html


@dataclass(frozen=True, repr=False)
class View(Shown):
    """View of an object, which prints as text and shows as HTML in a notebook.

    Attributes
    ----------
    title : str
        Kind of the object, the title in HTML.
    parts : tuple of Part
        Contents.
    about : str
        Text beside the title in HTML.
    between : str
        Separator of parts in text.
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
        """Fragment of escaped HTML, with its style."""
        about = f' <span class="sb-quiet">{html_text(self.about)}</span>' if self.about else ""
        parts = "".join(part.html for part in self.parts)
        title = f'<p class="sb-title"><strong>{html_text(self.title)}</strong>{about}</p>'
        return f'<style>{STYLE}</style><div class="sb-view">{title}{parts}</div>'

    def _view(self) -> View:
        return self

    __repr__ = Shown.__str__
