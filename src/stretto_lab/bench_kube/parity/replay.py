"""Parity live: kube-scheduler's choices, pod by pod, against Stretto's best nodes for each.

Random pods come one at a time to a cluster of varied nodes on which kube-scheduler works. A plane
under ``kube-parity`` follows the cluster and decides nothing; before it sees a pod's binding it is
asked where the pod may go best. kube-scheduler draws among equals, so its choice must be one of
the best; where it finds no node, none may be feasible and its message must be ours.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from stretto.api import codec
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import NAMESPACE, NODE, POD, SERVICE
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError, TimeoutExpiredError
from stretto.base.rng import Rng
from stretto.framework.parity.runtime import ParityRuntime
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Deletion, Record, WriteOutcome
from stretto_lab.bench_kube.options import KUBE_SCHEDULER
from stretto_lab.bench_kube.parity.pods import (
    SPACE,
    huge_pod_body,
    node_bodies,
    pod_body,
    service_body,
)
from stretto_lab.bench_kube.replay import PATIENT
from stretto_lab.bench_kube.site import API_FLAGS, SCHEDULER_FLAGS
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig

PARITY: Final = "kube-parity"
"""The profile that is held to kube-scheduler."""
DECIDES_WITHIN: Final = 30.0
"""Seconds for kube-scheduler to decide one pod."""
_LOOK: Final = 0.003

Told = Callable[[str], None]
"""Told of every deviation, as it is found."""


class ParityDeviation(msgspec.Struct, frozen=True):
    """A pod for which the two differ."""

    #: The pod.
    pod: str
    #: kube-scheduler's node; empty for none.
    chosen: str
    #: Stretto's best nodes.
    best: list[str]
    #: kube-scheduler's message, where it found none.
    their_message: str
    #: Stretto's.
    our_message: str
    #: The pod's JSON, for whoever looks into it.
    body: str


class ParityReport(msgspec.Struct):
    """How far they agree."""

    #: Pods tried.
    pods: int = 0
    #: Pods that got a node.
    placed: int = 0
    #: Among these, pods with one best node only: chance helps nobody there.
    decided: int = 0
    #: Every pod for which they differ.
    deviations: list[ParityDeviation] = []


class _ParityCondition(msgspec.Struct, frozen=True):
    """A condition of a pod."""

    #: Which.
    type: str
    #: ``True`` or ``False``.
    status: str
    #: In words.
    message: str = ""


class _ParityStatus(msgspec.Struct, frozen=True):
    """A pod's status."""

    #: Conditions.
    conditions: list[_ParityCondition] = []


class _PendingReport(msgspec.Struct, frozen=True):
    """What a scheduler tells of a pod that has no node."""

    #: Status.
    status: _ParityStatus = _ParityStatus()


def run_parity(pods: int, nodes: int, rng: Rng, clock: Clock, told: Told) -> ParityReport:
    """Let kube-scheduler place random pods and hold each choice to Stretto's best set.

    Raises:
        StrettoError: a program cannot be built or has ended, or an object is refused.
        TimeoutExpiredError: kube-scheduler decides nothing.
    """
    config = ControlPlaneConfig((KUBE_SCHEDULER,), (), False, API_FLAGS, SCHEDULER_FLAGS)
    report = ParityReport()
    with ControlPlane(config, clock) as control:
        store = KubeStore(KubeconfigAccess(control.kubeconfig), rng.child("waits"), PATIENT)
        try:
            trial = _ParityTrial(store, clock)
            trial.furnish(node_bodies(nodes, rng.child("nodes")))
            for number in range(pods):
                control[KUBE_SCHEDULER].check()
                known = len(report.deviations)
                trial.one(pod_body(number, rng.child("pod", number)), report)
                for each in report.deviations[known:]:
                    told(msgspec.json.encode(each).decode())
            trial.plane.close()
        finally:
            store.close()
    return report


class _ParityTrial:
    """One cluster, and the plane that follows it."""

    def __init__(self, store: KubeStore, clock: Clock) -> None:
        self.plane = Plane(PlaneConfig(load_profile(PARITY), tier="numpy"), store, clock)
        self._store = store
        self._clock = clock

    def furnish(self, nodes: list[bytes]) -> None:
        """Make the namespace, the nodes and a service, and see them."""
        space = msgspec.json.encode({"metadata": {"name": SPACE}})
        for kind, bodies in ((NAMESPACE, [space]), (SERVICE, [service_body()]), (NODE, nodes)):
            for reply in self._store.create(kind, bodies):
                _must(
                    reply.outcome is WriteOutcome.OK, f"creating {kind.resource}: {reply.message}"
                )
        by_name = self.plane.cluster.nodes.by_name
        self._until(lambda: len(by_name) == len(nodes), "seeing the nodes")
        self._until(lambda: self._sees_nodes(len(nodes)), "kube-scheduler seeing the nodes")

    def _sees_nodes(self, nodes: int) -> bool:
        """Whether kube-scheduler counts all nodes, where it turns a pod down that fits on none."""
        record = self._store.create(POD, [huge_pod_body()])[0].record
        _must(record is not None, "creating a pod that fits nowhere")
        assert record is not None
        _, message = self._decided(record)
        self._settle(record, "")
        return message.startswith(f"0/{nodes} nodes are available")

    def one(self, body: bytes, report: ParityReport) -> None:
        """Create a pod, ask both, and compare."""
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
        """kube-scheduler's node for a pod, or its message."""
        until = self._clock.monotonic() + DECIDES_WITHIN
        while self._clock.monotonic() < until:
            now = self._store.get(POD, record.namespace, record.name)
            _must(now is not None, f"pod {record.name} has gone")
            assert now is not None
            if now.node:
                return now.node, ""
            for each in msgspec.json.decode(now.body, type=_PendingReport).status.conditions:
                if each.type == "PodScheduled" and each.status == "False":
                    return "", each.message
            self._clock.sleep(_LOOK)
        raise TimeoutExpiredError(f"kube-scheduler's decision about pod {record.name}")

    def _settle(self, record: Record, node: str) -> None:
        """See the binding; a pod without a node is taken away, so that it is not tried again."""
        if not node:
            self._store.delete(POD, [Deletion(record.namespace, record.name)])
        cluster = self.plane.cluster

        def seen() -> bool:
            row = cluster.pods.row(record.uid)
            if not node:
                return row is None
            return row is not None and cluster.node_of(row) == node

        # A pod that came and went between two looks may never have been seen: that is well too.
        self._until(seen, f"seeing what became of pod {record.name}")

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        until = self._clock.monotonic() + DECIDES_WITHIN
        self.plane.look()
        while not (self.plane.pump.synced and holds()):
            if self._clock.monotonic() > until:
                raise TimeoutExpiredError(what)
            self._store.wait(_LOOK)
            self.plane.look()

    def _runtime(self) -> ParityRuntime:
        runtime = self.plane.shards[0].default.runtime
        assert isinstance(runtime, ParityRuntime)
        runtime.sync()
        return runtime


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise StrettoError(otherwise)
