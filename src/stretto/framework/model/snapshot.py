"""A cluster in the form that kube-parity reads: node columns, pods by node, and all other objects.

It is updated change by change. ``assume`` immediately adds a decided pod to its node, so that the
next decision counts it; ``forget`` removes it again.
"""

from collections.abc import Collection, Iterable
from typing import Final, TypeVar

import numpy as np

from stretto.api.types.core import Node
from stretto.api.types.effective_requests import ANY_ADDRESS, HostPort
from stretto.api.types.heads import ENDED
from stretto.api.types.pod import Pod
from stretto.api.wire.meta import Wire
from stretto.framework.model.nodes import NodeColumns, lengthened
from stretto.framework.model.pod_facts import FactsCompiler, PodKey, SchedulingFacts, key_of
from stretto.framework.model.requests import is_scalar
from stretto.framework.model.status import BoolArray, IntArray
from stretto.framework.model.tallies import RunningPods
from stretto.state.objects import ClusterObjects

_K = TypeVar("_K")

COUNTED: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that count although they are not scalar resources."""


class ParitySnapshot:
    """Nodes, pods and objects of one cluster."""

    def __init__(
        self, nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), objects: Iterable[Wire] = ()
    ) -> None:
        """Load a cluster; pods name their nodes, and those on unknown nodes are ignored."""
        #: All objects except nodes and pods.
        self.objects = ClusterObjects(objects)
        #: Compiled specs.
        self.compiler = FactsCompiler()
        #: Nominated pods by node name.
        self.nominated: dict[str, list[SchedulingFacts]] = {}
        self._empty()
        self.put_nodes(nodes)
        for pod in pods:
            self.add_pod(pod)

    def _empty(self) -> None:
        """Start without nodes and pods."""
        #: Nodes.
        self.nodes = NodeColumns()
        #: Pods counted by labels and by terms.
        self.population = RunningPods()
        #: Pods by node, in order of arrival.
        self.pods_on: list[list[SchedulingFacts]] = []
        #: Node by pod.
        self.node_of: dict[PodKey, int] = {}
        #: int64[n] by resource: amounts that pods request.
        self.used: dict[str, IntArray] = {}
        #: int64[n]: cpu that pods request, with the defaults of scores.
        self.seen_cpu: IntArray = np.zeros(0, np.int64)
        #: int64[n]: memory that pods request, with the defaults of scores.
        self.seen_memory: IntArray = np.zeros(0, np.int64)
        #: int64[n]: number of pods.
        self.pod_count: IntArray = np.zeros(0, np.int64)
        #: int64[n]: zeros, as the count of no pods.
        self.no_pods: IntArray = np.zeros(0, np.int64)
        #: Pods by PVC.
        self.pvc_users: dict[tuple[str, str], int] = {}
        #: Nodes with added or removed pods with volumes since their last read.
        self.volumes_moved: set[int] = set()
        #: Pods by host port and node.
        self.port_users: dict[tuple[str, int], dict[str, dict[int, int]]] = {}

    def put_nodes(self, nodes: Iterable[Node]) -> None:
        """Add nodes; a node with a known name replaces the old node and keeps its pods."""
        self.nodes.put(nodes)
        more = self.nodes.count - len(self.pods_on)
        if not more:
            return
        self.pods_on += [[] for _ in range(more)]
        self.population.grow(self.nodes.count)
        for resource, column in self.used.items():
            self.used[resource] = lengthened(column, more)
        self.seen_cpu = lengthened(self.seen_cpu, more)
        self.seen_memory = lengthened(self.seen_memory, more)
        self.pod_count = lengthened(self.pod_count, more)
        self.no_pods = lengthened(self.no_pods, more)

    def remove_node(self, name: str) -> None:
        """Remove a node and its pods."""
        self.remove_nodes((name,))

    def remove_nodes(self, names: Collection[str]) -> None:
        """Remove nodes and their pods. All columns are rebuilt: node removals are rare."""
        gone = {self.nodes.index[name] for name in names if name in self.nodes.index}
        if not gone:
            return
        kept = [at for at in range(self.nodes.count) if at not in gone]
        nodes = [self.nodes.objects[at] for at in kept]
        pods = [self.pods_on[at] for at in kept]
        self._empty()
        self.put_nodes(nodes)
        for at, those in enumerate(pods):
            for each in those:
                self._place(each, at, 1)

    def add_pod(self, pod: Pod) -> None:
        """Add a running pod to the node that it names; it replaces the pod with the same key.

        A finished pod is removed.
        """
        key = key_of(pod)
        if key in self.node_of:
            self.forget(key)
        if pod.status.phase in ENDED:
            return
        position = self.nodes.index.get(pod.spec.node_name)
        if position is not None:
            self._place(self.compiler.facts(pod), position, 1)

    def assume(self, pod: SchedulingFacts, node: str) -> None:
        """Count a decided pod on its node."""
        self._place(pod, self.nodes.index[node], 1)

    def reorder(self, node: str, pods: Iterable[SchedulingFacts]) -> None:
        """Restore the order of the pods on a node, which breaks ties between victims."""
        self.pods_on[self.nodes.index[node]] = list(pods)

    def leave(self, pod: SchedulingFacts) -> None:
        """Remove a pod, if it exists."""
        node = self.node_of.get(pod.key)
        if node is not None and any(each is pod for each in self.pods_on[node]):
            self._place(pod, node, -1)

    def forget(self, key: PodKey) -> None:
        """Remove a pod by its key."""
        node = self.node_of[key]
        facts = next(each for each in self.pods_on[node] if each.key == key)
        self._place(facts, node, -1)

    def nominate(self, pod: SchedulingFacts, node: str) -> None:
        """Nominate a node for a pod: pods of equal or lower priority must fit in addition to it."""
        self.nominated.setdefault(node, []).append(pod)

    def unnominate(self, pod: SchedulingFacts, node: str) -> None:
        """Withdraw a nomination."""
        left = [each for each in self.nominated.pop(node, []) if each is not pod]
        if left:
            self.nominated[node] = left

    def ahead_of(self, pod: SchedulingFacts) -> dict[int, list[SchedulingFacts]]:
        """Nominated pods that count for a pod, by node: pods of equal or higher priority."""
        found: dict[int, list[SchedulingFacts]] = {}
        for name, pods in self.nominated.items():
            position = self.nodes.index.get(name)
            those = [e for e in pods if e.priority >= pod.priority and e.key != pod.key]
            if position is not None and those:
                found[position] = those
        return found

    def used_of(self, resource: str) -> IntArray:
        """int64[n]: amounts of a resource that pods request."""
        found = self.used.get(resource)
        return np.zeros(self.nodes.count, np.int64) if found is None else found

    def port_taken(self, port: HostPort) -> BoolArray:
        """bool[n]: nodes on which a port conflicts with a pod's."""
        taken = np.zeros(self.nodes.count, np.bool_)
        by_address = self.port_users.get((port.protocol, port.port), {})
        for address, users in by_address.items():
            if port.ip in (address, ANY_ADDRESS) or address == ANY_ADDRESS:
                taken[list(users)] = True
        return taken

    def _place(self, pod: SchedulingFacts, node: int, by: int) -> None:
        self._count_amounts(pod, node, by)
        if pod.pod.spec.volumes:
            self.volumes_moved.add(node)
        for name, own in pod.shape.pvcs:
            if not own:
                _count(self.pvc_users, (pod.namespace, name), by)
        if by > 0:
            self.pods_on[node].append(pod)
            self.node_of[pod.key] = node
        else:
            self.pods_on[node].remove(pod)
            del self.node_of[pod.key]

    def _count_amounts(self, pod: SchedulingFacts, node: int, by: int) -> None:
        """Count a pod's requests, ports, labels and terms."""
        amounts, cpu, memory = pod.shape.running
        for resource, amount in amounts.items():
            if resource in COUNTED or is_scalar(resource):
                column = self.used.get(resource)
                if column is None:
                    column = self.used[resource] = np.zeros(self.nodes.count, np.int64)
                column[node] += by * amount
        self.seen_cpu[node] += by * cpu
        self.seen_memory[node] += by * memory
        self.pod_count[node] += by
        self.population.count(pod, node, by)
        for port in pod.shape.ports:
            by_address = self.port_users.setdefault((port.protocol, port.port), {})
            _count(by_address.setdefault(port.ip, {}), node, by)


def _count(counts: dict[_K, int], key: _K, by: int) -> None:
    """Add to a count; entries of zero are dropped."""
    left = counts.get(key, 0) + by
    if left:
        counts[key] = left
    else:
        del counts[key]
