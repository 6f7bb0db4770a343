"""Publication of label proportions under a budget, by the mechanism that distorts them least."""

from secretballot.quantification.publishing._publish_proportions import publish_proportions

__all__ = ["publish_proportions"]
