"""What is shown of an object: described once, printed as text and shown as HTML."""

from secretballot._views._cells import Bar, Cell, Key, Segment, Shade
from secretballot._views._labels import label_parts
from secretballot._views._parts import Heading, Items, Part, Prose, Table, facts
from secretballot._views._view import Shown, View

__all__ = [
    "Bar",
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
    "label_parts",
]
