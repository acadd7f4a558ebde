"""Tables of the cluster state that grow together: tables by node slot and tables by pod."""

from stretto.state.affinity.index import PopulationRegistry
from stretto.state.classes.preemption_attributes import PreemptionAttributeTable
from stretto.state.classes.table import PodClasses
from stretto.state.cluster.config import ClusterConfig
from stretto.state.nodes.table import NodeFacts
from stretto.state.numa.ledger import NumaTopology
from stretto.state.objects import ClusterObjects
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.pods import Pods
from stretto.state.work.evictions import Evictions
from stretto.state.work.nominations import Nominations


class NodeTables:
    """Facts about nodes, by slot."""

    def __init__(self, config: ClusterConfig) -> None:
        """Start without nodes."""
        #: Exact amounts by slot.
        self.ledger = Ledger(config.fan_out, pools=not config.whole)
        #: NUMA nodes of machines, and the pods' allocations on them.
        self.topology = NumaTopology(self.ledger)
        #: Static facts by slot.
        self.nodes = NodeFacts(images=config.images, topology=self.topology)


class PodTables:
    """Facts about pods, by row or by uid, and the objects that rules about pods read."""

    def __init__(self, config: ClusterConfig, ledger: Ledger) -> None:
        """Start without pods, with the resource names of a ledger."""
        #: Pods as rows.
        self.pods = Pods()
        #: Classes of pods.
        self.classes = PodClasses(
            ledger.resources, tuple(config.device_kinds), overcommits=config.overcommits
        )
        #: Preemption attributes of pods.
        self.preemption_attributes = PreemptionAttributeTable(config.preemptible)
        #: Pods that are being evicted.
        self.evictions = Evictions(self.pods)
        #: Claims that wait for evicted pods.
        self.nominations = Nominations(self.pods)
        #: Namespaces, workload owners, PVCs, PVs and similar objects; also nodes if they are kept
        #: whole.
        self.objects = ClusterObjects()
        #: Populations counted by inter-pod rules, and the terms of classes.
        self.domains = PopulationRegistry(self.pods, self.classes, self.objects)
