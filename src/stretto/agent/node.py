"""The agent of one machine: reads it, and reports what has changed."""

from pathlib import Path

from stretto.agent.report.extended import ExtendedResources
from stretto.agent.report.pods import NodePod, node_pods
from stretto.agent.report.reading import NodeReader
from stretto.agent.report.status import NodeMeasurement, node_status
from stretto.agent.report.writer import ReportWriter
from stretto.agent.topology.gpus import GpuReader
from stretto.api.types.cnr import CnrStatus
from stretto.api.wire.kinds import POD
from stretto.base.clock import Clock
from stretto.capacity.reclaim.estimators import estimator
from stretto.framework.profile.capacity.reclaim import ReclaimRules
from stretto.stores.store import ListOptions, Store


class NodeAgent:
    """Measures one machine."""

    def __init__(
        self, root: Path, gpus: GpuReader, clock: Clock, rules: ReclaimRules | None = None
    ) -> None:
        """Read the machine whose file system starts at ``root``; rules choose the estimator."""
        rules = rules or ReclaimRules()
        self._reader = NodeReader(root, gpus, clock)
        self._clock = clock
        self._estimator = estimator(rules)
        self._extended = ExtendedResources(rules.extended_resources)

    def measure(self) -> CnrStatus | None:
        """What the machine does since the last call, without the names of its pods."""
        return self.status({})

    def status(self, pods: dict[str, NodePod]) -> CnrStatus | None:
        """The status since the last call; ``None`` at the first one, which has no rates.

        Args:
            pods: pods of the node by uid.
        """
        node = self._reader.read(pods)
        return None if node is None else self._status(node)

    def step(self, store: Store, node: str, writer: ReportWriter) -> bool:
        """Measure and report once; whether anything was written."""
        records = store.list(POD, ListOptions(fields=f"spec.nodeName={node}")).records
        measured = self._reader.read(node_pods(records))
        if measured is None:
            return False
        status = self._status(measured)
        wrote = writer.report(status, self._clock.monotonic()) is not None
        return self._extended.write(store, node, status) or wrote

    def _status(self, node: NodeMeasurement) -> CnrStatus:
        return node_status(node, self._estimator, self._clock.monotonic())
