"""Updates of DaemonSets: which pods go and which nodes get one, within the bounds of the update.

As in the DaemonSet controller of Kubernetes: an outdated pod that is not available is replaced at
once; others wait for their turn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stretto.reconcile.cache import StoredObject
from stretto.workloads.bounds import resolved


@dataclass(frozen=True, slots=True)
class DaemonWindow:
    """Bounds of an update."""

    #: Whether outdated pods are replaced.
    replaces: bool
    #: Nodes that may have a second pod.
    surge: int
    #: Nodes whose pod may be unavailable.
    unavailable: int


@dataclass(frozen=True, slots=True)
class DaemonPlace:
    """The pods of one node."""

    #: Name of the node.
    node: str
    #: The pod of the current revision.
    new: StoredObject | None
    #: The pod of an earlier revision.
    old: StoredObject | None
    #: Uids of those that are available.
    available: frozenset[str]

    @property
    def pods(self) -> list[StoredObject]:
        """Both pods, as far as they exist."""
        return [pod for pod in (self.new, self.old) if pod is not None]

    @property
    def is_new_available(self) -> bool:
        """Whether the pod of the current revision is available."""
        return self.new is not None and self.new.record.uid in self.available

    @property
    def is_old_available(self) -> bool:
        """Whether the pod of an earlier revision is available."""
        return self.old is not None and self.old.record.uid in self.available


@dataclass(frozen=True, slots=True)
class DaemonStep:
    """What changes now."""

    #: Pods to delete.
    deleted: list[StoredObject]
    #: Nodes that get a pod.
    created: list[str]


def daemon_window(spec: dict[str, Any], nodes: int) -> DaemonWindow:
    """The bounds of the update of a DaemonSet with a number of nodes."""
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    surge = resolved(rolling.get("maxSurge", 0), nodes, math.ceil)
    unavailable = resolved(rolling.get("maxUnavailable", 1), nodes, math.ceil)
    replaces = strategy.get("type", "RollingUpdate") == "RollingUpdate"
    return DaemonWindow(replaces, surge, unavailable if surge or unavailable else 1)


def next_step(places: Sequence[DaemonPlace], window: DaemonWindow) -> DaemonStep:
    """The next step of an update, and the nodes without any pod."""
    empty = [place.node for place in places if not place.pods]
    if not window.replaces:
        return DaemonStep([], empty)
    if window.surge:
        return _surge(places, window.surge, empty)
    return DaemonStep(_replaced(places, window.unavailable), empty)


def _replaced(places: Sequence[DaemonPlace], most: int) -> list[StoredObject]:
    """Outdated pods to delete: those that are not available, and others while few nodes are."""
    outdated = [place for place in places if place.new is None and place.old is not None]
    broken = [place.old for place in outdated if not place.is_old_available]
    waiting = [place for place in places if place.old is None and not place.is_new_available]
    both = [place.old for place in places if place.new is not None and place.old is not None]
    free = max(0, most - len(broken) - len(waiting) - len(both))
    turn = [place.old for place in outdated if place.is_old_available][:free]
    return [pod for pod in (*both, *broken, *turn) if pod is not None]


def _surge(places: Sequence[DaemonPlace], most: int, empty: list[str]) -> DaemonStep:
    """Add new pods beside old ones, and delete old ones whose successor is available."""
    pairs = [place for place in places if place.new is not None and place.old is not None]
    done = [place.old for place in pairs if place.is_new_available]
    outdated = [place for place in places if place.new is None and place.old is not None]
    broken = [place.node for place in outdated if not place.is_old_available]
    turn = [place.node for place in outdated if place.is_old_available]
    free = max(0, most - (len(pairs) - len(done)))
    return DaemonStep([pod for pod in done if pod is not None], [*empty, *broken, *turn[:free]])
