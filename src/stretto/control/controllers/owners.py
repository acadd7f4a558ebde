"""Finds the controller that recreates an evicted pod, possibly on another node."""

from collections.abc import Iterable
from typing import Final

from stretto.api.wire.meta import OwnerReference

_BY_NODE: Final = frozenset({"DaemonSet", "Node"})
"""Owner kinds whose next pod is bound to the same node."""


def recreating_owner(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    """The controller among a pod's owners that recreates it for any node, or ``None``."""
    owner = next((each for each in owners if each.controller), None)
    return None if owner is None or owner.kind in _BY_NODE else owner
