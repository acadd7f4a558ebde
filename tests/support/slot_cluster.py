"""A small cluster by slots, for tests of rules that read nodes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stretto.api.codec import decode
from stretto.api.types.heads import decode_pod_head
from stretto.api.wire.kinds import NODE
from stretto.framework.compiled.tables import TypicalPodTable, no_typical_pods
from stretto.framework.contract.rule import SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.snapshot import Columns
from stretto.testing import make_node, make_pod


class SlotSketch:
    """Nodes n0, n1, ... and their view for rules."""

    def __init__(self, *nodes: dict[str, Any]) -> None:
        self.cluster = Cluster()
        self.typical: TypicalPodTable = no_typical_pods()
        for number, node in enumerate(nodes):
            self.cluster.node_updates.put(decode(NODE, make_node(f"n{number}", **node)))

    @property
    def view(self) -> View:
        columns = Columns(self.cluster.ledger)
        columns.sync()
        return View(columns, self.cluster.nodes, self.typical)

    @property
    def slots(self) -> SlotArray:
        names = sorted(self.cluster.nodes.by_name, key=lambda name: int(name[1:]))
        return np.array([self.slot(name) for name in names], np.int64)

    def slot(self, name: str) -> int:
        return self.cluster.nodes.by_name[name]

    def pod(self, **requested: Any) -> PodClass:
        """A class with these requests; see ``make_pod``."""
        body = make_pod("p", **requested)
        return self.cluster.classes[self.cluster.classes.intern(decode_pod_head(body), body)]

    def run(self, node: str, pod: PodClass, devices: Sequence[int] = ()) -> None:
        """Charge a pod of a class to a node, with these devices."""
        ledger, slot = self.cluster.ledger, self.slot(node)
        ledger.charge(slot, pod.requests)
        ledger.ports.learn(pod.ports)
        ledger.ports.take(slot, pod.ports)
        for request in pod.devices:
            ledger.devices.take(slot, sum(1 << d for d in devices), request)
