"""All capacity settings of a profile."""

from collections.abc import Mapping
from typing import Any

import msgspec

from stretto.framework.profile.capacity.hot_nodes import HotNodeRules, read_hot_nodes
from stretto.framework.profile.capacity.overcommit import OvercommitRules, read_overcommit
from stretto.framework.profile.capacity.reclaim import ReclaimRules, read_reclaim


class CapacityRules(msgspec.Struct, frozen=True):
    """How a profile uses more of its nodes than pods request."""

    #: How nodes are overcommitted; ``None`` for not at all.
    overcommit: OvercommitRules | None = None
    #: How unused capacity is loaned; ``None`` for reports of agents as they are.
    reclaim: ReclaimRules | None = None
    #: How pods leave hot nodes; ``None`` for not at all.
    hot_nodes: HotNodeRules | None = None


def read_capacity(own: Mapping[str, Any], where: str) -> CapacityRules:
    """The capacity settings among Stretto's settings of a profile.

    Raises:
        InputError: something has the wrong form; the path says where.
    """
    return CapacityRules(
        read_overcommit(own.get("overcommit"), f"{where}.overcommit"),
        read_reclaim(own.get("reclaim"), f"{where}.reclaim"),
        read_hot_nodes(own.get("rebalance"), f"{where}.rebalance"),
    )
