"""Publication of an upper bound of the data-dependent cost of votes."""

from secretballot._public import published
from secretballot.publication._publish_epsilon import publish_epsilon
from secretballot.publication._published_epsilon import PublishedEpsilon

__all__ = ["PublishedEpsilon", "publish_epsilon"]

published(globals())
