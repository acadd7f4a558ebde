"""All capacity settings of a profile."""

from collections.abc import Mapping
from typing import Any

import msgspec

from stretto.framework.profile.capacity.hot_nodes import HotNodeRules, read_hot_nodes
from stretto.framework.profile.capacity.overcommit import OvercommitRules, read_overcommit
from stretto.framework.profile.capacity.reclaim import ReclaimRules, read_reclaim


class CapacityRules(msgspec.Struct, frozen=True):
    """Settings with which a profile uses more of its nodes than pods request."""

    #: Overcommit of nodes; ``None`` for no overcommit.
    overcommit: OvercommitRules | None = None
    #: Reclaim of unused capacity; ``None`` to use the reports of agents unchanged.
    reclaim: ReclaimRules | None = None
    #: Moves of pods from hot nodes; ``None`` for no moves.
    hot_nodes: HotNodeRules | None = None


def read_capacity(own: Mapping[str, Any], where: str) -> CapacityRules:
    """Read the capacity settings among Stretto's settings of a profile.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
    """
    return CapacityRules(
        read_overcommit(own.get("overcommit"), f"{where}.overcommit"),
        read_reclaim(own.get("reclaim"), f"{where}.reclaim"),
        read_hot_nodes(own.get("rebalance"), f"{where}.rebalance"),
    )
