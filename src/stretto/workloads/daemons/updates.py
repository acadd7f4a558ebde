"""Updates of DaemonSets: the pods to delete and the nodes that get one, within the bounds.

As in the DaemonSet controller of Kubernetes: an outdated pod that is not available is replaced at
once; the others are replaced within the bounds of the update. A node without a running pod counts
as unavailable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stretto.reconcile.cache import StoredObject
from stretto.workloads.bounds import resolved
from stretto.workloads.daemons.places import DaemonPlace, DaemonStep


@dataclass(frozen=True, slots=True)
class DaemonWindow:
    """Bounds of an update."""

    #: True if outdated pods are replaced.
    replaces: bool
    #: Maximum number of nodes with a second pod.
    surge: int
    #: Maximum number of nodes whose pod is unavailable.
    unavailable: int


def daemon_window(spec: dict[str, Any], nodes: int) -> DaemonWindow:
    """The bounds of the update of a DaemonSet on a number of nodes."""
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    surge = resolved(rolling.get("maxSurge", 0), nodes, math.ceil)
    unavailable = resolved(rolling.get("maxUnavailable", 1), nodes, math.ceil)
    replaces = strategy.get("type", "RollingUpdate") == "RollingUpdate"
    return DaemonWindow(replaces, surge, unavailable if surge or unavailable else 1)


def next_step(places: Sequence[DaemonPlace], window: DaemonWindow) -> DaemonStep:
    """The next step of an update.

    Args:
        places: the nodes with pods.
        window: the bounds.
    """
    if not window.replaces:
        return DaemonStep([], [])
    if window.surge:
        return _surge(places, window.surge)
    return DaemonStep(_replaced(places, window.unavailable), [])


def _replaced(places: Sequence[DaemonPlace], most: int) -> list[StoredObject]:
    """Outdated pods to delete: unavailable pods, and others while few nodes are unavailable."""
    outdated = [place for place in places if place.new is None and place.old is not None]
    broken = [place.old for place in outdated if not place.is_available(place.old)]
    others = [place for place in places if place.old is None or place.new is not None]
    waiting = [place for place in others if place.old or not place.is_available(place.new)]
    turn = [place.old for place in outdated if place.is_available(place.old)]
    free = max(0, most - len(broken) - len(waiting))
    return [pod for pod in (*broken, *turn[:free]) if pod is not None]


def _surge(places: Sequence[DaemonPlace], most: int) -> DaemonStep:
    """Add new pods next to old ones, and delete old ones whose successor is available."""
    pairs = [place for place in places if place.new is not None and place.old is not None]
    done = [place.old for place in pairs if place.is_available(place.new)]
    outdated = [place for place in places if place.new is None and place.old is not None]
    broken = [place.node for place in outdated if not place.is_available(place.old)]
    turn = [place.node for place in outdated if place.is_available(place.old)]
    free = max(0, most - (len(pairs) - len(done)))
    return DaemonStep([pod for pod in done if pod is not None], [*broken, *turn[:free]])
