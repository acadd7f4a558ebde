"""Quality of service and priority band of pods, from their labels and priorities.

Source: Koordinator's ``apis/extension`` (priority bands, QoS classes and their defaults).
"""

from enum import Enum
from typing import Final

from stretto.capacity.model.classes import Band


class ServiceQos(Enum):
    """Quality of service; the values are the labels of Koordinator."""

    #: Exclusive cores, which no other class may use.
    LSE = "LSE"
    #: Exclusive cores, which best-effort pods may use while they are idle.
    LSR = "LSR"
    #: Shared cores, latency-sensitive.
    LS = "LS"
    #: Best effort: throttled and evicted first.
    BE = "BE"
    #: Agents of the node.
    SYSTEM = "SYSTEM"
    #: Unknown class.
    NONE = ""


class KubeQos(Enum):
    """Quality of service that Kubernetes derives from requests and limits."""

    #: Each container limits CPU and memory to its requests.
    GUARANTEED = "Guaranteed"
    #: Some container requests or limits CPU or memory.
    BURSTABLE = "Burstable"
    #: No container requests or limits CPU or memory.
    BEST_EFFORT = "BestEffort"


BAND_PRIORITIES: Final = {
    Band.PROD: range(9000, 10000),
    Band.MID: range(7000, 8000),
    Band.BATCH: range(5000, 6000),
    Band.FREE: range(3000, 4000),
}
"""Priorities of pods that belong to each band."""

_QOS_OF_KUBE: Final = {
    KubeQos.GUARANTEED: ServiceQos.LSR,
    KubeQos.BURSTABLE: ServiceQos.LS,
    KubeQos.BEST_EFFORT: ServiceQos.BE,
}
_BAND_OF_QOS: Final = {
    ServiceQos.LSE: Band.PROD,
    ServiceQos.LSR: Band.PROD,
    ServiceQos.LS: Band.PROD,
    ServiceQos.SYSTEM: Band.PROD,
    ServiceQos.BE: Band.BATCH,
    ServiceQos.NONE: Band.NONE,
}
_QOS_BY_LABEL: Final = {each.value: each for each in ServiceQos}
_BAND_BY_LABEL: Final = {each.value: each for each in Band}


def qos_named(label: str) -> ServiceQos:
    """QoS class of a label; ``NONE`` for an unknown label."""
    return _QOS_BY_LABEL.get(label, ServiceQos.NONE)


def band_named(label: str) -> Band:
    """Band of a label; ``NONE`` for an unknown label."""
    return _BAND_BY_LABEL.get(label, Band.NONE)


def qos_of(label: str, kube: KubeQos) -> ServiceQos:
    """QoS class of a pod: its label, or else derived from Kubernetes' class."""
    named = qos_named(label)
    return _QOS_OF_KUBE[kube] if named is ServiceQos.NONE else named


def declared_band(label: str, priority: int | None) -> Band:
    """Band of a pod by its label, or else by its priority; ``NONE`` outside all bands."""
    if label:
        return band_named(label)
    if priority is None:
        return Band.NONE
    for band, priorities in BAND_PRIORITIES.items():
        if priority in priorities:
            return band
    return Band.NONE


def band_of(label: str, priority: int | None, qos: ServiceQos) -> Band:
    """Band of a pod: its label, or else its priority, or else the default of its QoS class."""
    declared = declared_band(label, priority)
    return _BAND_OF_QOS[qos] if declared is Band.NONE else declared
