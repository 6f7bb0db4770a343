"""Individual budgets: copies, weights or turns of ballots, from public levels."""

from secretballot.ensemble.individual._assignment import Assignment as Assignment
from secretballot.ensemble.individual._assignment import Individualization as Individualization
from secretballot.ensemble.individual._upsampling import Upsampling as Upsampling
from secretballot.ensemble.individual._vanishing import Vanishing as Vanishing
from secretballot.ensemble.individual._weighting import Weighting as Weighting
