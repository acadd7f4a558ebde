"""The agent of one machine: reads it, and reports what has changed."""

from pathlib import Path

from stretto.agent.report.extended import ExtendedResources
from stretto.agent.report.pods import NodePod, node_pods
from stretto.agent.report.status import MeasuredNode, node_status
from stretto.agent.report.writer import ReportWriter
from stretto.agent.report.zones import zone_tree
from stretto.agent.topology.gpus import GpuReader
from stretto.agent.topology.network import read_network
from stretto.agent.topology.processors import read_processors
from stretto.agent.usage.machine import MachineReading, read_machine, use_between
from stretto.api.types.cnr import CnrStatus
from stretto.api.wire.kinds import POD
from stretto.base.clock import Clock
from stretto.capacity.reclaim.estimators import estimator
from stretto.framework.profile.reclaim import ReclaimRules
from stretto.stores.store import ListOptions, Store


class NodeAgent:
    """Measures one machine."""

    def __init__(
        self, root: Path, gpus: GpuReader, clock: Clock, rules: ReclaimRules | None = None
    ) -> None:
        """Read the machine whose file system starts at ``root``; rules choose the estimator."""
        rules = rules or ReclaimRules()
        self._root = root
        self._gpus = gpus
        self._clock = clock
        self._estimator = estimator(rules)
        self._extended = ExtendedResources(rules.extended_resources)
        self._last: MachineReading | None = None

    def measure(self) -> CnrStatus | None:
        """What the machine does since the last call, without the names of its pods."""
        return self.status({})

    def status(self, pods: dict[str, NodePod]) -> CnrStatus | None:
        """The status since the last call; ``None`` at the first one, which has no rates.

        Args:
            pods: pods of the node by uid.
        """
        node = self.read(pods)
        return None if node is None else self._status(node)

    def read(self, pods: dict[str, NodePod]) -> MeasuredNode | None:
        """The node and its use since the last call; ``None`` at the first one."""
        devices, processors = read_network(self._root), read_processors(self._root)
        names = tuple(each.name for each in devices)
        numa_of = {cpu.number: cpu.numa for cpu in processors.cpus}
        reading = read_machine(self._root, self._clock.monotonic(), names, numa_of)
        last, self._last = self._last, reading
        if last is None:
            return None
        zones = zone_tree(processors, self._gpus.read(), devices)
        return MeasuredNode(zones, use_between(last, reading), pods, self._clock.now())

    def step(self, store: Store, node: str, writer: ReportWriter) -> bool:
        """Measure and report once; whether anything was written."""
        records = store.list(POD, ListOptions(fields=f"spec.nodeName={node}")).records
        measured = self.read(node_pods(records))
        if measured is None:
            return False
        status = self._status(measured)
        wrote = writer.report(status, self._clock.monotonic()) is not None
        return self._extended.write(store, node, status) or wrote

    def _status(self, node: MeasuredNode) -> CnrStatus:
        return node_status(node, self._estimator, self._clock.monotonic())
