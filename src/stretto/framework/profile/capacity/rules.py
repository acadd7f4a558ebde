"""All capacity settings of a profile."""

from collections.abc import Mapping
from typing import Any

import msgspec

from stretto.framework.profile.capacity.overcommit import OvercommitRules, read_overcommit
from stretto.framework.profile.capacity.reclaim import ReclaimRules, read_reclaim
from stretto.framework.profile.capacity.relief import ReliefRules, read_relief


class CapacityRules(msgspec.Struct, frozen=True):
    """How a profile uses more of its nodes than pods request."""

    #: How nodes are overcommitted; ``None`` for not at all.
    overcommit: OvercommitRules | None = None
    #: How unused capacity is lent; ``None`` for reports of agents as they are.
    reclaim: ReclaimRules | None = None
    #: How pods leave hot nodes; ``None`` for not at all.
    relief: ReliefRules | None = None


def read_capacity(own: Mapping[str, Any], where: str) -> CapacityRules:
    """The capacity settings among Stretto's settings of a profile.

    Raises:
        InputError: something has the wrong form; the path says where.
    """
    return CapacityRules(
        read_overcommit(own.get("overcommit"), f"{where}.overcommit"),
        read_reclaim(own.get("reclaim"), f"{where}.reclaim"),
        read_relief(own.get("rebalance"), f"{where}.rebalance"),
    )
