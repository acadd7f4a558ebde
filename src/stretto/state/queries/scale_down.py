"""Choice of the pods that are removed when an application is scaled down.

Kubernetes removes pods without a node, then pods that are not ready, then the youngest. That may
leave an application in one zone, or above its domain caps. This module keeps the order of the first
two classes. Among ready pods, it chooses one pod at a time: from the domain that exceeds its cap
most, then from the fullest zone, the fullest node and the most loaded node, then the youngest.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from stretto.api.wire.labels import HOSTNAME_LABEL, ZONE_LABEL
from stretto.state.classes.annotations import DomainCap


class PlacedPod(msgspec.Struct, frozen=True):
    """A pod that may be removed."""

    #: Labels of its node; empty for a pod without a node.
    labels: Mapping[str, str] = {}
    #: True if the pod is ready.
    is_ready: bool = True
    #: Use of its node, 0 to 1; 0 if it is unknown.
    load: float = 0.0
    #: Creation time in seconds since 1970.
    created_s: float = 0.0

    @property
    def has_node(self) -> bool:
        """True if it has a node."""
        return bool(self.labels)


def removals(pods: Sequence[PlacedPod], count: int, caps: Sequence[DomainCap] = ()) -> list[int]:
    """Positions of the pods to remove, in order.

    Args:
        pods: pods of the application.
        count: number of pods to remove; all of them if there are fewer.
        caps: its domain caps, which the remaining pods should respect.
    """
    size = max(len(pods) - count, 0)
    left = dict(enumerate(pods))
    found: list[int] = []
    while left and len(found) < count:
        totals = {
            key: _totals(left.values(), key)
            for key in (ZONE_LABEL, HOSTNAME_LABEL, *(c.key for c in caps))
        }
        chosen = max(left, key=lambda i: _weight(left[i], i, totals, caps, size))
        found.append(chosen)
        del left[chosen]
    return found


def _totals(pods: Iterable[PlacedPod], key: str) -> Counter[str]:
    """Pods by value of a label."""
    return Counter(pod.labels[key] for pod in pods if key in pod.labels)


def _weight(
    pod: PlacedPod,
    number: int,
    totals: Mapping[str, Counter[str]],
    caps: Sequence[DomainCap],
    size: int,
) -> tuple[float, ...]:
    """Weight of a pod: the pod with the largest weight is removed next."""
    excess = [
        totals[cap.key][pod.labels[cap.key]] - cap.limit(size)
        for cap in caps
        if cap.key in pod.labels
    ]
    return (
        not pod.has_node,
        not pod.is_ready,
        max(0, *excess, 0),
        totals[ZONE_LABEL][pod.labels.get(ZONE_LABEL, "")],
        totals[HOSTNAME_LABEL][pod.labels.get(HOSTNAME_LABEL, "")],
        pod.load,
        pod.created_s,
        -number,
    )
