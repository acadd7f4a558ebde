"""Actions on a node whose capacity shrinks below the promised amounts.

An admission is never revoked: a smaller ratio stops new pods. Then best-effort pods are throttled,
and only then are pods evicted: reclaimed pods first, and production pods never in favour of
best-effort pods.
"""

from collections.abc import Iterable
from enum import Enum

import msgspec

from stretto.capacity.headroom.readings import CoreLevel


class ShrinkStep(Enum):
    """The strongest action on a node."""

    #: Everything fits.
    NONE = "none"
    #: New pods are refused.
    CLOSED = "closed"
    #: Reclaimed pods are throttled.
    THROTTLED = "throttled"
    #: Pods are evicted.
    EVICTING = "evicting"


class PromisedPod(msgspec.Struct, frozen=True):
    """A pod on a node."""

    #: Name of the pod.
    name: str
    #: QoS level.
    level: CoreLevel
    #: Requested amount.
    request: int
    #: Used amount.
    usage: int = 0


class ShrinkPlan(msgspec.Struct, frozen=True):
    """The actions on a node."""

    #: The strongest action.
    step: ShrinkStep
    #: Pods to throttle.
    throttled: tuple[str, ...] = ()
    #: Pods to evict, in order.
    evicted: tuple[str, ...] = ()


def shrink(capacity: int, real: int, pods: Iterable[PromisedPod]) -> ShrinkPlan:
    """Choose the actions for one resource of a node.

    Promises above the capacity only close the node. Throttling and eviction need use above the real
    amount, because an unused promise has no effect on other pods.

    Args:
        capacity: the amount that may be promised now.
        real: the real amount of the node.
        pods: its pods.
    """
    found = list(pods)
    promised = sum(pod.request for pod in found if pod.level is not CoreLevel.RECLAIMED)
    used = sum(pod.usage for pod in found)
    reclaimed = sorted(
        (pod for pod in found if pod.level is CoreLevel.RECLAIMED),
        key=lambda pod: (-pod.usage, pod.name),
    )
    if used <= real:
        return ShrinkPlan(ShrinkStep.CLOSED if promised > capacity else ShrinkStep.NONE)
    names = tuple(pod.name for pod in reclaimed)
    owned = used - sum(pod.usage for pod in reclaimed)
    if owned <= real:
        return ShrinkPlan(ShrinkStep.THROTTLED, throttled=names)
    surplus = owned - real
    shared = sorted(
        (pod for pod in found if pod.level is CoreLevel.SHARED),
        key=lambda pod: (pod.request - pod.usage, pod.name),
    )
    evicted = list(names)
    for pod in shared:
        if surplus <= 0 or pod.usage <= pod.request:
            break
        evicted.append(pod.name)
        surplus -= pod.usage
    return ShrinkPlan(ShrinkStep.EVICTING, throttled=names, evicted=tuple(evicted))
