"""The site of one round: a fresh control plane, its nodes and pods, and the onlooker.

Every round has a control plane of its own, with the same settings whoever is measured: no round
inherits the history, the caches or the compactions of another.
"""

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from stretto.api.wire.kinds import NAMESPACE, NODE, POD, POD_GROUP, SERVICE, Kind
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Deletion, StatusReason, WriteOutcome
from stretto_lab.bench_kube.options import KUBE_SCHEDULER, KubeBenchOptions
from stretto_lab.bench_kube.replay import PATIENT
from stretto_lab.bench_kube.shapes import (
    SPACES,
    STIRRED,
    WorkloadShape,
    churn_bodies,
    group_bodies,
    node_bodies,
    pod_bodies,
    running_bodies,
    workload_counts,
)
from stretto_lab.bench_kube.watch import PodWatcher
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig

CHUNK: Final = 500
"""Objects created in one call."""
API_FLAGS: Final = ("--disable-admission-plugins=TaintNodesByCondition,Priority",)
"""No controller would take the taints of new nodes away; the same are off in scheduler_perf."""
SCHEDULER_FLAGS: Final = ("--secure-port=0",)
"""It starts late, when a port that was free may be a connection's; nobody asks it anything."""
SETTLE: Final = 4.0
"""Seconds for a new API server's own first duties, so that no side is measured beside them."""
_TURN: Final = 1.0
"""Seconds between turns of what comes and goes."""
_TICK: Final = 0.02
"""Seconds between looks of a thread at whether something is due."""


class BenchSite:
    """A cluster with a workload; a context manager that leaves nothing behind."""

    def __init__(self, shape: WorkloadShape, asked: KubeBenchOptions, clock: Clock) -> None:
        """Start etcd and the API server; schedulers are built, and started by nobody yet."""
        #: Workload.
        self.shape = shape
        #: Folder for logs and plans.
        self.folder = Path(tempfile.mkdtemp(prefix="stretto-bench-"))
        self._asked = asked
        self._clock = clock
        self._exits = contextlib.ExitStack()
        self._trouble: list[Exception] = []
        parts = (KUBE_SCHEDULER,) if asked.against == KUBE_SCHEDULER else ()
        try:
            #: The programs.
            self.plane = ControlPlane(
                ControlPlaneConfig(parts=parts, flags=API_FLAGS, scheduler_flags=SCHEDULER_FLAGS),
                clock,
            )
            self._exits.callback(self.plane.close)
            for name in ("etcd", "kube-apiserver"):
                self.plane[name].start()
            self.plane.wait_ready()
            #: The loader's client, and the onlooker's.
            self.store = KubeStore(KubeconfigAccess(self.plane.kubeconfig), Rng(0), PATIENT)
            self._exits.callback(self.store.close)
            self._furnish()
            clock.sleep(SETTLE)
            #: What is seen of the pods.
            self.seen = PodWatcher(self.store, clock, gangs=shape.gang > 1)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop whatever was started here."""
        self._exits.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------ objects

    def create(self, kind: Kind, bodies: Iterable[bytes]) -> None:
        """Create objects, all of which must be accepted.

        Raises:
            StrettoError: one is not.
        """
        waiting = iter(bodies)
        while chunk := list(islice(waiting, CHUNK)):
            for reply in self.store.create(kind, chunk):
                if (
                    reply.outcome is not WriteOutcome.OK
                    and reply.code is not StatusReason.ALREADY_EXISTS
                ):
                    raise StrettoError(f"creating {kind.resource}: {reply.message}")

    def create_pods(self, numbers: range) -> None:
        """Create pods to place, and see them."""
        for start in range(numbers.start, numbers.stop, CHUNK):
            some = range(start, min(start + CHUNK, numbers.stop))
            self.create(POD, pod_bodies(self.shape, self._asked.nodes, some))
            self.seen.look(0)

    def _furnish(self) -> None:
        """Namespaces, nodes, pods that run, and gangs."""
        shape, asked = self.shape, self._asked
        names = [msgspec.json.encode({"metadata": {"name": name}}) for name in SPACES]
        self.create(NAMESPACE, names)
        self.create(NODE, node_bodies(shape, asked.nodes))
        self.create(POD, running_bodies(shape, asked.nodes, asked.running))
        if shape.gang > 1:
            self.plane.install()
            counts = workload_counts(shape, asked.nodes)
            self.create(POD_GROUP, group_bodies(shape, counts.pods + counts.steady))

    # ------------------------------------------------------------ meanwhile

    @contextlib.contextmanager
    def churned(self) -> Iterator[None]:
        """A node, a pod and a service come and go every second, where the workload wants it."""
        if not self.shape.stirs:
            yield
            return
        with self._meanwhile(self._stir):
            yield

    @contextlib.contextmanager
    def creating(self, numbers: range) -> Iterator[None]:
        """Pods are created at the asked rate; gangs come whole."""
        with self._meanwhile(lambda stop: self._create_steadily(numbers, stop)):
            yield

    @contextlib.contextmanager
    def _meanwhile(self, work: Callable[[threading.Event], None]) -> Iterator[None]:
        """Work in a thread until it is done or told to stop; what goes wrong there is raised."""
        stop = threading.Event()

        def guarded() -> None:
            try:
                work(stop)
            except Exception as error:  # noqa: BLE001  (told to whoever waits)
                self._trouble.append(error)

        thread = threading.Thread(target=guarded, name="stretto-bench", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        self.check()

    def check(self) -> None:
        """Raise what has gone wrong meanwhile, or say that the API server has ended."""
        if self._trouble:
            raise self._trouble[0]
        for part in ("etcd", "kube-apiserver"):
            self.plane[part].check()

    def _create_steadily(self, numbers: range, stop: threading.Event) -> None:
        began, done, gang = self._clock.monotonic(), 0, self.shape.gang
        while done < len(numbers) and not stop.wait(_TICK):
            due = int((self._clock.monotonic() - began) * self._asked.rate) // gang * gang
            due = min(len(numbers), due)
            if due > done:
                some = numbers[done:due]
                self.create(POD, pod_bodies(self.shape, self._asked.nodes, some))
                done = due

    def _stir(self, stop: threading.Event) -> None:
        turn = 0
        while not stop.wait(_TURN):
            number, kinds = turn // 2, (NODE, POD, SERVICE)
            if turn % 2 == 0:
                for kind, body in zip(kinds, churn_bodies(number), strict=True):
                    self.create(kind, [body])
            else:
                for kind in kinds:
                    space = STIRRED if kind.namespaced else ""
                    self.store.delete(kind, [Deletion(space, f"churn-{number}")])
            turn += 1
