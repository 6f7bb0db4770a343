"""Views of objects: described once, printed as text and shown as HTML."""

from secretballot._views._label_parts import label_parts
from secretballot._views._view import Shown, View
from secretballot._views._view_cells import Bar, Cell, Key, Segment, Shade
from secretballot._views._view_page import html_page
from secretballot._views._view_parts import (
    Answers,
    Blanks,
    Heading,
    Items,
    Part,
    Prose,
    Table,
    facts,
)

__all__ = [
    "Answers",
    "Bar",
    "Blanks",
    "Cell",
    "Heading",
    "Items",
    "Key",
    "Part",
    "Prose",
    "Segment",
    "Shade",
    "Shown",
    "Table",
    "View",
    "facts",
    "html_page",
    "label_parts",
]
