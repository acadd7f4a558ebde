"""The kinds of metrics.k8s.io: current use of nodes and pods."""

from stretto.api.wire.meta import NO_TEXTS, ObjectMeta, Wire


class ContainerMetrics(Wire, frozen=True):
    """Use of a container."""

    #: Name of the container.
    name: str
    #: Quantities by resource.
    usage: dict[str, str] = NO_TEXTS


class PodMetrics(Wire, frozen=True):
    """Use of a pod."""

    #: Name, namespace and labels of the pod.
    metadata: ObjectMeta
    #: RFC 3339 time of the measurement.
    timestamp: str
    #: Duration over which it was measured, such as ``15s``.
    window: str
    #: Its containers.
    containers: tuple[ContainerMetrics, ...] = ()


class NodeMetrics(Wire, frozen=True):
    """Use of a node."""

    #: Name and labels of the node.
    metadata: ObjectMeta
    #: RFC 3339 time of the measurement.
    timestamp: str
    #: Duration over which it was measured.
    window: str
    #: Quantities by resource.
    usage: dict[str, str] = NO_TEXTS
