"""The agent of one machine: it measures the machine and reports changes."""

from pathlib import Path

from stretto.agent.limits.enforcer import Enforced, Enforcer, Evict
from stretto.agent.report.local_pods import LocalPods
from stretto.agent.report.pods import NodePod
from stretto.agent.report.reading import NodeReader
from stretto.agent.report.status import NodeMeasurement, node_status
from stretto.agent.report.writer import ReportWriter
from stretto.agent.topology.gpus import GpuReader
from stretto.api.types.cnr import CnrStatus
from stretto.base.clock import Clock
from stretto.capacity.reclaim.estimators import estimator
from stretto.framework.profile.capacity.reclaim import ReclaimRules
from stretto.stores.store import Store


class NodeAgent:
    """Agent of one machine."""

    def __init__(
        self,
        root: Path,
        gpus: GpuReader,
        clock: Clock,
        rules: ReclaimRules | None = None,
        enforcer: Enforcer | None = None,
    ) -> None:
        """Measure a machine.

        Args:
            root: root of its file system.
            gpus: reads its GPUs.
            clock: the clock.
            rules: choose the estimator of the headroom.
            enforcer: limits best-effort pods; ``None`` for no limits.
        """
        self._rules = rules or ReclaimRules()
        is_detailed = self._rules.memory.estimator.needs_detail
        self._reader = NodeReader(root, gpus, clock, is_detailed=is_detailed)
        self._clock = clock
        self._estimator = estimator(self._rules)
        self._enforcer = enforcer
        #: Actions of the last step, or planned actions of a dry run.
        self.enforced = Enforced()

    def measure(self) -> CnrStatus | None:
        """The use of the machine since the last call, without the names of its pods."""
        return self.status({})

    def status(self, pods: dict[str, NodePod]) -> CnrStatus | None:
        """Return the status since the last call; ``None`` at the first call, which has no rates.

        Args:
            pods: pods of the node by uid.
        """
        node = self._reader.read(pods)
        self._enforce(node, lambda *_: False)
        return None if node is None else self._status(node)

    def step(self, store: Store, node: str, writer: ReportWriter) -> bool:
        """Measure, report and enforce once; return whether anything was written to the store."""
        local = LocalPods(store, node)
        measured = self._reader.read(local.pods)
        self._enforce(measured, local.evict)
        if measured is None:
            return False
        status = self._status(measured)
        return writer.report(status, self._clock.monotonic()) is not None

    def close(self) -> None:
        """Release every limit, because no agent measures the pods any more."""
        if self._enforcer is not None:
            self._enforcer.release()

    def _enforce(self, node: NodeMeasurement | None, evict: Evict) -> None:
        if self._enforcer is not None:
            self.enforced = self._enforcer.step(node, self._reader.processors, evict)

    def _status(self, node: NodeMeasurement) -> CnrStatus:
        return node_status(node, self._estimator, self._rules, self._clock.monotonic())
