"""Pods in the form of Koordinator's recordings."""

from collections.abc import Iterable

import msgspec

from stretto.base.amounts import total_of
from stretto.capacity.model.classes import Band
from stretto_lab.models.koordinator import classes, demand
from stretto_lab.models.koordinator.classes import KubeQos, ServiceQos
from stretto_lab.models.koordinator.demand import Amounts, ContainerDemand

_COUNTED = ("cpu", "memory")


class PodInput(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with containers."""

    #: Name.
    name: str = ""
    #: Label of the QoS class.
    qos: str = ""
    #: Label of the priority band.
    priority_class: str = ""
    #: Priority of the spec.
    priority: int | None = None
    #: Containers.
    containers: tuple[ContainerDemand, ...] = ()
    #: Init containers.
    init_containers: tuple[ContainerDemand, ...] = ()
    #: Overhead of the runtime.
    overhead: dict[str, int] = {}
    #: Factors of the estimate, in percent.
    custom_factors: dict[str, int] = {}

    def requests(self) -> dict[str, int]:
        """Requests of the pod."""
        amounts = demand.pod_amounts(
            (each.requests for each in self.containers),
            (each.requests for each in self.init_containers),
        )
        return demand.with_overhead(amounts, self.overhead)

    def limits(self) -> dict[str, int]:
        """Limits of the pod."""
        amounts = demand.pod_amounts(
            (each.limits for each in self.containers),
            (each.limits for each in self.init_containers),
        )
        return demand.limits_with_overhead(amounts, self.overhead)

    def kube_qos(self) -> KubeQos:
        """The QoS class that Kubernetes derives."""
        return kube_qos((*self.containers, *self.init_containers))

    def service_qos(self) -> ServiceQos:
        """The QoS class."""
        return classes.qos_of(self.qos, self.kube_qos())

    def band(self) -> Band:
        """The priority band."""
        return classes.band_of(self.priority_class, self.priority, self.service_qos())


def kube_qos(containers: tuple[ContainerDemand, ...]) -> KubeQos:
    """The QoS class that Kubernetes derives from containers without defaults of the API server."""
    requests = _counted(each.requests for each in containers)
    limits = _counted(each.limits for each in containers)
    if not requests and not limits:
        return KubeQos.BEST_EFFORT
    limited = all(each.limits.get(name, 0) > 0 for each in containers for name in _COUNTED)
    return KubeQos.GUARANTEED if limited and requests == limits else KubeQos.BURSTABLE


def _counted(amounts: Iterable[Amounts]) -> dict[str, int]:
    """Sums of the positive amounts that decide the class."""
    sums = total_of(amounts)
    return {name: sums[name] for name in _COUNTED if sums.get(name, 0) > 0}
