"""Mid capacity: requests of online pods beyond their predicted peaks.

Source: Koordinator's ``noderesource/plugins/midresource``.
"""

from dataclasses import dataclass

import numpy as np

from stretto.capacity.reclaim.batch import NodeSupply, percent_of
from stretto.capacity.reclaim.held import Amounts


@dataclass(frozen=True)
class MidStrategy:
    """Parameters of the estimator; CPU first, then memory."""

    #: Upper bound in percent of the capacity.
    cap_percent: tuple[int, int] = (100, 100)
    #: Percent of the unrequested capacity that is added.
    unallocated_percent: int = 0


@dataclass(frozen=True)
class MidSupply:
    """Inputs of the estimator for each node besides its supply; one row per node."""

    #: Requested amounts that are unused according to a peak prediction.
    reclaimable: Amounts
    #: Measured use of the whole node.
    node_used: Amounts
    #: Requests of online pods.
    requested: Amounts


def mid(supply: NodeSupply, known: MidSupply, strategy: MidStrategy) -> Amounts:
    """Milli-CPU and bytes for mid pods, by node, at least 0."""
    unused = supply.capacity - known.node_used
    idle = np.maximum(np.minimum(known.reclaimable, unused), 0)
    outside = np.maximum(supply.reserved, supply.system)
    unallocated = np.maximum(supply.capacity - outside - known.requested, 0)
    found = idle + percent_of(unallocated, strategy.unallocated_percent)
    return bounded(found, supply.capacity, strategy)


def bounded(amounts: Amounts, capacity: Amounts, strategy: MidStrategy) -> Amounts:
    """Amounts up to the bound of the strategy, a percentage of the capacity."""
    return np.minimum(amounts, percent_of(capacity, strategy.cap_percent))
