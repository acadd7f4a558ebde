"""Mid capacity as a fixed percentage of the capacity.

The estimator from peaks is in ``stretto.capacity.reclaim.mid``. Source: Koordinator's
``noderesource/plugins/midresource``.
"""

from stretto.capacity.reclaim.batch import NodeSupply, percent_of
from stretto.capacity.reclaim.held import Amounts
from stretto.capacity.reclaim.mid import MidStrategy, bounded


def static(supply: NodeSupply, percent: tuple[int, int], strategy: MidStrategy) -> Amounts:
    """Percentage of the capacity of each node, at most the bound of the strategy."""
    return bounded(percent_of(supply.capacity, percent), supply.capacity, strategy)
