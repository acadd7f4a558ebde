"""Demand of one unit: the amounts that it requests from the pool of all nodes."""

from typing import NamedTuple

from stretto.state.queries.pool import Amounts


class UnitDemand(NamedTuple):
    """Amounts that a unit requests."""

    #: The minimum without which the unit does not start.
    least: Amounts
    #: The amounts of all its pending pods.
    most: Amounts
    #: No pod of the unit runs yet: it counts as one more running unit.
    fresh: bool = True
