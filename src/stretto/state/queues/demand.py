"""Demand of one unit: the amounts that it requests from the pool of all nodes."""

from typing import NamedTuple

from stretto.state.queries.pool import Amounts


class UnitDemand(NamedTuple):
    """Amounts that a unit requests."""

    #: Minimum amounts without which the unit does not start.
    least: Amounts
    #: Amounts of all its pending pods.
    most: Amounts
    #: True if no pod of the unit runs yet: it counts as one more running unit.
    fresh: bool = True
