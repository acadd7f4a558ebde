"""TideNodePool of Katalyst: nodes that online and offline pods use at different times."""

from stretto.api.wire.meta import NO_TEXTS, ObjectMeta, Wire


class TideLabel(Wire, frozen=True):
    """A label of nodes."""

    #: Its key.
    key: str
    #: Its value.
    value: str


class TideTaint(Wire, frozen=True):
    """A taint of the online or the offline nodes."""

    #: Its key.
    key: str
    #: Its value.
    value: str = ""
    #: Its effect; empty for ``NoExecute``.
    effect: str = ""


class TideReserve(Wire, frozen=True):
    """Nodes that never switch: numbers, or percentages of the nodes of the pool."""

    #: Nodes that stay online; a percentage is rounded up.
    online: int | str = 0
    #: Nodes that stay offline; a percentage is rounded down.
    offline: int | str = 0


class TideNodeConfigs(Wire, frozen=True):
    """The nodes of the pool, and the labels by which pods select a side."""

    #: Labels that a node of the pool has.
    node_selector: dict[str, str] = NO_TEXTS
    #: Label of online nodes; null for ``tide.katalyst.kubewharf.io/node-type=online``.
    online_label: TideLabel | None = None
    #: Label of offline nodes; null for ``tide.katalyst.kubewharf.io/node-type=offline``.
    offline_label: TideLabel | None = None
    #: Label of nodes that switch; null for ``tide.katalyst.kubewharf.io/tide=true``.
    tide_label: TideLabel | None = None
    #: Nodes that never switch.
    reserve: TideReserve = TideReserve()


class TideWatermark(Wire, frozen=True):
    """The taints of online and of offline nodes."""

    #: Taint of offline nodes; null for ``tide.katalyst.kubewharf.io/online-not-used=true``.
    evict_online_pod_taint: TideTaint | None = None
    #: Taint of online nodes; null for ``tide.katalyst.kubewharf.io/offline-not-used=true``.
    evict_offline_pod_taint: TideTaint | None = None


class TideEvictStrategy(Wire, frozen=True):
    """Strategy of evicting online or offline pods."""

    #: ``watermark``, eviction by taints, is the only strategy.
    type: str = ""
    #: The taints.
    watermark: TideWatermark = TideWatermark()


class TideNodePoolSpec(Wire, frozen=True):
    """The nodes of the pool and their switching."""

    #: The nodes and their labels.
    node_configs: TideNodeConfigs
    #: The taints.
    evict_strategy: TideEvictStrategy = TideEvictStrategy()


class TideReserveNodes(Wire, frozen=True):
    """Nodes that never switch."""

    #: Names of the nodes that stay online.
    online_nodes: tuple[str, ...] = ()
    #: Names of the nodes that stay offline.
    offline_nodes: tuple[str, ...] = ()


class TideNodes(Wire, frozen=True):
    """Nodes that switch."""

    #: Their names.
    nodes: tuple[str, ...] = ()


class TideNodePoolStatus(Wire, frozen=True):
    """The nodes of the pool by name."""

    #: Nodes that never switch.
    reserve_nodes: TideReserveNodes = TideReserveNodes()
    #: Nodes that switch.
    tide_nodes: TideNodes = TideNodes()


class TideNodePool(Wire, frozen=True):
    """A pool of nodes that switch between online and offline pods."""

    #: Identity.
    metadata: ObjectMeta
    #: The nodes and their switching.
    spec: TideNodePoolSpec
    #: The nodes by name.
    status: TideNodePoolStatus = TideNodePoolStatus()
