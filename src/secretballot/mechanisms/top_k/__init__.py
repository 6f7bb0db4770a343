"""Mechanisms that release the unordered set of the items with the largest counts.

Names that are imported as themselves are for other folders of the library, not for users.
"""

from secretballot.mechanisms.top_k._item_draws import Draws as Draws
from secretballot.mechanisms.top_k._item_draws import largest as largest
from secretballot.mechanisms.top_k._item_draws import mark as mark
from secretballot.mechanisms.top_k._limited_domain_top_k import LimitedDomainTopK
from secretballot.mechanisms.top_k._limited_domain_top_k import floor_height as floor_height
from secretballot.mechanisms.top_k._noisy_top_k import ExponentialTopK
from secretballot.mechanisms.top_k._stable_top_k import StableTopK
from secretballot.mechanisms.top_k._top_k import TopK

__all__ = [
    "ExponentialTopK",
    "LimitedDomainTopK",
    "StableTopK",
    "TopK",
]
