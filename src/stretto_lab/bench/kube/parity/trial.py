"""One cluster with kube-scheduler, and a plane that computes its own choice for every pod."""

from collections.abc import Callable
from typing import Final

import msgspec

from stretto.api import codec
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import NAMESPACE, NODE, POD, SERVICE
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError, TimeoutExpiredError
from stretto.framework.parity.runtime import ParityRuntime
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.stores.store import Deletion, Record, Store, WriteOutcome
from stretto_lab.bench.kube.parity.pods import SPACE, huge_pod_body, service_body
from stretto_lab.bench.kube.parity.report import ParityDeviation, ParityReport

PARITY: Final = "kube-parity"
"""The profile that is compared with kube-scheduler."""
DECIDES_WITHIN: Final = 30.0
"""Seconds within which kube-scheduler must decide one pod."""
_POLL: Final = 0.003


class _ParityCondition(msgspec.Struct, frozen=True):
    """A condition in a pod status."""

    #: Its type.
    type: str
    #: ``True`` or ``False``.
    status: str
    #: Its message.
    message: str = ""


class _ParityStatus(msgspec.Struct, frozen=True):
    """The status of a pod."""

    #: Conditions.
    conditions: list[_ParityCondition] = []


class _PendingReport(msgspec.Struct, frozen=True):
    """The scheduling status of a pending pod."""

    #: The status.
    status: _ParityStatus = _ParityStatus()


class ParityTrial:
    """One cluster with a plane that follows it."""

    def __init__(self, store: Store, wait: Callable[[float], object], clock: Clock) -> None:
        self.plane = Plane(PlaneConfig(load_profile(PARITY), tier="numpy"), store, clock)
        self._store = store
        self._wait = wait
        self._clock = clock

    def prepare(self, nodes: list[bytes]) -> None:
        """Create namespace, service and nodes; wait until both schedulers know the nodes."""
        space = msgspec.json.encode({"metadata": {"name": SPACE}})
        for kind, bodies in ((NAMESPACE, [space]), (SERVICE, [service_body()]), (NODE, nodes)):
            for reply in self._store.create(kind, bodies):
                _must(
                    reply.outcome is WriteOutcome.OK, f"creating {kind.resource}: {reply.message}"
                )
        by_name = self.plane.cluster.nodes.by_name
        self._until(lambda: len(by_name) == len(nodes), "observing the nodes")
        self._until(lambda: self._sees_nodes(len(nodes)), "kube-scheduler observing the nodes")

    def _sees_nodes(self, nodes: int) -> bool:
        """True if kube-scheduler counts all nodes in the rejection of a pod that fits on none."""
        record = self._store.create(POD, [huge_pod_body()])[0].record
        _must(record is not None, "creating a pod that fits nowhere")
        assert record is not None
        _, message = self._decided(record)
        self._settle(record, "")
        return message.startswith(f"0/{nodes} nodes are available")

    def one(self, body: bytes, report: ParityReport) -> None:
        """Create a pod, decide with both schedulers and compare."""
        reply = self._store.create(POD, [body])[0]
        record = reply.record
        if record is None:
            raise StrettoError(f"creating a pod: {reply.message}")
        decision = self._runtime().follower.scheduler.decide(codec.decode_as(Pod, record.body))
        node, message = self._decided(record)
        report.pods += 1
        report.placed += bool(node)
        report.decided += bool(node) and len(decision.best) == 1
        agrees = node in decision.best if node else message == decision.message
        if not agrees:
            found = (record.name, node, decision.best, message, decision.message)
            report.deviations.append(ParityDeviation(*found, record.body.decode()))
        self._settle(record, node)

    def _decided(self, record: Record) -> tuple[str, str]:
        """The node chosen by kube-scheduler, or its message."""
        until = self._clock.monotonic() + DECIDES_WITHIN
        while self._clock.monotonic() < until:
            now = self._store.get(POD, record.namespace, record.name)
            _must(now is not None, f"pod {record.name} was deleted")
            assert now is not None
            if now.node:
                return now.node, ""
            for each in msgspec.json.decode(now.body, type=_PendingReport).status.conditions:
                if each.type == "PodScheduled" and each.status == "False":
                    return "", each.message
            self._clock.sleep(_POLL)
        raise TimeoutExpiredError(f"kube-scheduler's decision about pod {record.name}")

    def _settle(self, record: Record, node: str) -> None:
        """Wait for the binding; delete a pod without a node, so that it is not retried."""
        if not node:
            self._store.delete(POD, [Deletion(record.namespace, record.name)])
        cluster = self.plane.cluster

        def seen() -> bool:
            row = cluster.pods.row(record.uid)
            if not node:
                return row is None
            return row is not None and cluster.node_of(row) == node

        # A pod that was created and deleted between two polls may be unknown.
        self._until(seen, f"observing pod {record.name}")

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        until = self._clock.monotonic() + DECIDES_WITHIN
        self.plane.look()
        while not (self.plane.pump.synced and holds()):
            if self._clock.monotonic() > until:
                raise TimeoutExpiredError(what)
            self._wait(_POLL)
            self.plane.look()

    def _runtime(self) -> ParityRuntime:
        runtime = self.plane.shards[0].default.runtime
        assert isinstance(runtime, ParityRuntime)
        runtime.sync()
        return runtime


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise StrettoError(otherwise)
