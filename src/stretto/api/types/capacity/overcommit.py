"""NodeOvercommitConfig of Katalyst: the configured overcommit ratios of a node pool."""

from stretto.api.wire.meta import NO_TEXTS, ObjectMeta, Wire


class NodeOvercommitSpec(Wire, frozen=True):
    """Overcommit ratios of the nodes of a pool."""

    #: Value of the label ``katalyst.kubewharf.io/overcommit_node_pool`` on nodes of the pool.
    node_overcommit_selector_val: str = ""
    #: Ratio by resource, as text: ``cpu`` and ``memory``.
    resource_overcommit_ratio: dict[str, str] = NO_TEXTS


class NodeOvercommitStatus(Wire, frozen=True):
    """Nodes of the pool."""

    #: Names of the nodes.
    matched_node_list: tuple[str, ...] = ()


class NodeOvercommitConfig(Wire, frozen=True):
    """The configured overcommit of a node pool."""

    #: Identity.
    metadata: ObjectMeta
    #: The ratios.
    spec: NodeOvercommitSpec = NodeOvercommitSpec()
    #: Its nodes.
    status: NodeOvercommitStatus = NodeOvercommitStatus()
