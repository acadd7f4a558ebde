"""The site of one round: a new control plane, its nodes and pods, and the watcher.

Each round has its own control plane with the same settings for both schedulers, so no round
inherits history, caches or compactions.
"""

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Self

import msgspec

from stretto.api.wire.kinds import NAMESPACE, NODE, POD, POD_GROUP, SERVICE, Kind
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.store import Deletion, StatusReason, WriteOutcome
from stretto_lab.bench.kube.options import KUBE_SCHEDULER, KubeBenchOptions
from stretto_lab.bench.kube.replay import LONG_TIMEOUTS
from stretto_lab.bench.kube.shapes import (
    CHURN,
    SPACES,
    WorkloadShape,
    churn_bodies,
    group_bodies,
    node_bodies,
    pod_bodies,
    running_bodies,
    workload_counts,
)
from stretto_lab.bench.kube.watch import PodWatcher
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig

CHUNK: Final = 500
"""Objects created in one call."""
API_FLAGS: Final = ("--disable-admission-plugins=TaintNodesByCondition,Priority",)
"""Flags that disable the same admissions as scheduler_perf, such as the taint of new nodes."""
SCHEDULER_FLAGS: Final = ("--secure-port=0",)
"""kube-scheduler starts late, when its port may be in use, and nothing queries the port."""
SETTLE: Final = 4.0
"""Seconds for the startup work of a new API server, which must not overlap a measurement."""
_TURN: Final = 1.0
"""Seconds between churn turns."""
_TICK: Final = 0.02
"""Polling interval of a background thread in seconds."""


class BenchSite:
    """A cluster with a workload; as a context manager it removes everything on exit."""

    def __init__(self, shape: WorkloadShape, options: KubeBenchOptions, clock: Clock) -> None:
        """Start etcd and the API server; the schedulers are built but not started."""
        #: Workload.
        self.shape = shape
        #: Folder for logs and plans.
        self.folder = Path(tempfile.mkdtemp(prefix="stretto-bench-"))
        self._options = options
        self._clock = clock
        self._exits = contextlib.ExitStack()
        self._errors: list[Exception] = []
        parts = (KUBE_SCHEDULER,) if options.against == KUBE_SCHEDULER else ()
        try:
            #: The programs of the control plane.
            self.plane = ControlPlane(
                ControlPlaneConfig(parts=parts, flags=API_FLAGS, scheduler_flags=SCHEDULER_FLAGS),
                clock,
            )
            self._exits.callback(self.plane.close)
            for name in ("etcd", "kube-apiserver"):
                self.plane[name].start()
            self.plane.wait_ready()
            #: Client of the loader and of the watcher.
            self.store = KubeStore(KubeconfigAccess(self.plane.kubeconfig), Rng(0), LONG_TIMEOUTS)
            self._exits.callback(self.store.close)
            self._create_initial()
            clock.sleep(SETTLE)
            #: Observations of the pods.
            self.seen = PodWatcher(self.store, clock, gangs=shape.gang > 1)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all programs."""
        self._exits.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ------------------------------------------------------------ objects

    def create(self, kind: Kind, bodies: Iterable[bytes]) -> None:
        """Create objects.

        Raises:
            StrettoError: an object is rejected.
        """
        pending = iter(bodies)
        while chunk := list(islice(pending, CHUNK)):
            for reply in self.store.create(kind, chunk):
                if (
                    reply.outcome is not WriteOutcome.OK
                    and reply.code is not StatusReason.ALREADY_EXISTS
                ):
                    raise StrettoError(f"creating {kind.resource}: {reply.message}")

    def create_pods(self, numbers: range) -> None:
        """Create pods to place and observe them."""
        for start in range(numbers.start, numbers.stop, CHUNK):
            some = range(start, min(start + CHUNK, numbers.stop))
            self.create(POD, pod_bodies(self.shape, self._options.nodes, some))
            self.seen.look(0)

    def _create_initial(self) -> None:
        """Create namespaces, nodes, running pods and PodGroups."""
        shape, options = self.shape, self._options
        names = [msgspec.json.encode({"metadata": {"name": name}}) for name in SPACES]
        self.create(NAMESPACE, names)
        self.create(NODE, node_bodies(shape, options.nodes))
        self.create(POD, running_bodies(shape, options.nodes, options.running))
        if shape.gang > 1:
            self.plane.install()
            counts = workload_counts(shape, options.nodes)
            self.create(POD_GROUP, group_bodies(shape, counts.pods + counts.steady))

    # ------------------------------------------------------------ background work

    @contextlib.contextmanager
    def churned(self) -> Iterator[None]:
        """Create or delete a node, a pod and a service every second, if the workload has churn."""
        if not self.shape.churns:
            yield
            return
        with self._in_background(self._churn):
            yield

    @contextlib.contextmanager
    def creating(self, numbers: range) -> Iterator[None]:
        """Create pods at the configured rate; gangs are created completely."""
        with self._in_background(lambda stop: self._create_steadily(numbers, stop)):
            yield

    @contextlib.contextmanager
    def _in_background(self, work: Callable[[threading.Event], None]) -> Iterator[None]:
        """Run work in a thread until the context ends, and re-raise its error."""
        stop = threading.Event()

        def guarded() -> None:
            try:
                work(stop)
            except Exception as error:  # noqa: BLE001  (raised in the main thread)
                self._errors.append(error)

        thread = threading.Thread(target=guarded, name="stretto-bench", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        self.check()

    def check(self) -> None:
        """Raise the error of background work, or report that a server has exited."""
        if self._errors:
            raise self._errors[0]
        for part in ("etcd", "kube-apiserver"):
            self.plane[part].check()

    def _create_steadily(self, numbers: range, stop: threading.Event) -> None:
        began, done, gang = self._clock.monotonic(), 0, self.shape.gang
        while done < len(numbers) and not stop.wait(_TICK):
            due = int((self._clock.monotonic() - began) * self._options.rate) // gang * gang
            due = min(len(numbers), due)
            if due > done:
                some = numbers[done:due]
                self.create(POD, pod_bodies(self.shape, self._options.nodes, some))
                done = due

    def _churn(self, stop: threading.Event) -> None:
        turn = 0
        while not stop.wait(_TURN):
            number, kinds = turn // 2, (NODE, POD, SERVICE)
            if turn % 2 == 0:
                for kind, body in zip(kinds, churn_bodies(number), strict=True):
                    self.create(kind, [body])
            else:
                for kind in kinds:
                    space = CHURN if kind.namespaced else ""
                    self.store.delete(kind, [Deletion(space, f"churn-{number}")])
            turn += 1
