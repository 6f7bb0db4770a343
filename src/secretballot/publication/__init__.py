"""Publication of an upper bound of the data-dependent cost of votes."""

from secretballot._public import published
from secretballot.publication._publish_epsilon import PublishedEpsilon, publish_epsilon

__all__ = ["PublishedEpsilon", "publish_epsilon"]

published(globals())
