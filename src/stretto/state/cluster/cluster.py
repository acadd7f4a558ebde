"""The cluster state of one engine process: all tables, and the two ways to change them.

Watch events (``ingest``) and the binder's claims are the only writers. Both charge pods through
``charges``, which keeps the ledger's exact amounts, devices and ports consistent with the pods'
rows; nodes change through ``node_updates``.
"""

from stretto.api.types.capacity.overcommit import NodeOvercommitConfig
from stretto.api.types.godel import PodGroup, Queue
from stretto.state.cluster.charges import PodCharges
from stretto.state.cluster.config import ClusterConfig
from stretto.state.cluster.node_updates import NodeUpdates
from stretto.state.cluster.offers import OfferClaims
from stretto.state.cluster.tables import NodeTables, PodTables
from stretto.state.work.changes import ClusterChanges
from stretto.state.work.claims import SnapshotBasis
from stretto.stores.store import Record


class Cluster:
    """Nodes, pods, classes and the ledger, kept consistent."""

    def __init__(self, config: ClusterConfig | None = None) -> None:
        """Create an empty cluster."""
        #: Configuration.
        self.config = config if config is not None else ClusterConfig()
        #: Effects of the last batches, for the dispatcher.
        self.changes = ClusterChanges()
        #: Unreadable objects: key to error message.
        self.abnormal: dict[str, str] = {}
        on_nodes = NodeTables(self.config)
        of_pods = PodTables(self.config, on_nodes.ledger)
        #: Exact amounts by slot.
        self.ledger = on_nodes.ledger
        #: Static facts by slot.
        self.nodes = on_nodes.nodes
        #: NUMA nodes of machines, and the pods' allocations on them.
        self.topology = on_nodes.topology
        #: Pods as rows.
        self.pods = of_pods.pods
        #: Classes of pods.
        self.classes = of_pods.classes
        #: Namespaces, workload owners, PVCs, PVs and others; also nodes if they are kept whole.
        self.objects = of_pods.objects
        #: Preemption attributes of pods.
        self.preemption_attributes = of_pods.preemption_attributes
        #: Pods that are being evicted.
        self.evictions = of_pods.evictions
        #: Claims that wait for evicted pods.
        self.nominations = of_pods.nominations
        #: Populations counted by inter-pod rules, and the terms of classes.
        self.domains = of_pods.domains
        #: Charges of pods on nodes.
        self.charges = PodCharges(
            on_nodes, of_pods, self.changes, self.abnormal, all_placements_cure=self.config.whole
        )
        #: Reservations: charges of ended pods, kept for their successors.
        self.reservations = self.charges.reservations
        #: Changes of nodes.
        self.node_updates = NodeUpdates(self.config, on_nodes, of_pods, self.charges)
        #: The last record of each pod by uid, if whole pods are kept.
        self.records: dict[str, Record] = {}
        #: PodGroups by ``namespace/name``.
        self.groups: dict[str, PodGroup] = {}
        #: Queues by name.
        self.queues: dict[str, Queue] = {}
        #: Configured overcommit of node pools, by the name of the object.
        self.overcommit_configs: dict[str, NodeOvercommitConfig] = {}
        #: Keys of the PodGroups with placement rules or domain caps.
        self.directed: set[str] = set()
        #: Names of nodes recommended to the next pods of a unit, by unit key.
        self.recommended: dict[str, list[str]] = {}
        #: Recommendations of each Movement, by its name.
        self.movements: dict[str, dict[str, list[str]]] = {}
        #: Values of PriorityClasses by name.
        self.priorities: dict[str, int] = {}
        #: resourceVersions of our own pod updates, whose watch events are ignored.
        self.own_writes: set[int] = set()
        #: Wall clock minus engine clock, in seconds; converts times written by other components.
        self.wall_offset = 0.0

    @property
    def offers(self) -> OfferClaims:
        """Capacity that frameworks hold besides the pods of their tasks."""
        return self.charges.offers

    @property
    def basis(self) -> SnapshotBasis:
        """Position of a snapshot taken now."""
        return SnapshotBasis(self.ledger.head, self.objects.version)

    @property
    def domains_basis(self) -> tuple[int, int, int]:
        """Inputs of an inter-pod decision made now: numbering, counts, nodes."""
        return self.domains.counts.epoch, self.domains.counts.head, self.nodes.version

    def node_of(self, row: int) -> str:
        """Name of the node for which a pod is claimed or to which it is bound; empty for none."""
        return self.charges.node_of(row)
