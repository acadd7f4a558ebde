"""A harness with controllers: a pod that ends is made again under a new name."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from stretto.api.wire.kinds import POD, QUEUE
from stretto.plane.plane import Plane
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_pod


def queue_object(name: str, **spec: Any) -> bytes:
    """A Queue object."""
    meta = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": {"name": name}}
    return json.dumps({**meta, "spec": {"policy": "FifoSkip", **spec}}).encode()


def queue_pod(name: str, queue: str, cpu: str = "1", **more: Any) -> bytes:
    """A pod of a queue."""
    return make_pod(name, cpu=cpu, annotations={"stretto.dev/queue": queue}, **more)


class RecreatingHarness(Harness):
    """Counts the pods of each workload that ended, and makes them again one second later."""

    def __init__(self, nodes: list[bytes], *queues: bytes, grace: float = 0.0, **more: Any) -> None:
        """Start with nodes and queues; deleted pods stay for ``grace`` seconds."""
        config = {"tier": "numpy", **more.pop("config", {})}
        super().__init__(nodes, config=config, **more)
        self.create(QUEUE, *queues)
        #: Pods that ended, by workload.
        self.ended: Counter[str] = Counter()
        self._grace = grace
        self._make: dict[str, Callable[[str], bytes]] = {}
        self._current: dict[str, str] = {}
        self._due: dict[str, float] = {}
        self._numbers: Counter[str] = Counter()

    def work(self, workload: str, make: Callable[[str], bytes], count: int = 1) -> None:
        """Keep ``count`` pods of a workload; ``make`` returns the pod of a name."""
        for number in range(count):
            key = f"{workload}.{number}"
            self._make[key] = make
            self._create(key)

    def finish(self, workload: str) -> None:
        """End the pods of a workload for good."""
        for key in [key for key in self._current if key.split(".")[0] == workload]:
            del self._make[key]
            name = self._current.pop(key)
            self._release(name)
            self.store.delete(POD, [Deletion("default", name)])

    def evict(self, workload: str, number: int) -> None:
        """Delete one pod of a workload for good; it is not made again."""
        key = f"{workload}.{number}"
        del self._make[key]
        self.store.delete(POD, [Deletion("default", self._current[key])])

    def run(self, seconds: int, by: float = 1.0) -> None:
        """Run the plane and the controllers."""
        for _ in range(int(seconds / by)):
            self.settle(by)
            self._control()

    def restart(self) -> None:
        """Replace the plane by a new one over the same store."""
        self.plane.close()
        self.plane = Plane(self.plane.config, self.store, self.clock)

    def placed_of(self, workload: str) -> int:
        """Pods of a workload with a node."""
        names = [name for key, name in self._current.items() if key.split(".")[0] == workload]
        return sum(bool(self.node_of(name)) for name in names)

    def _control(self) -> None:
        now = self.clock.monotonic()
        records = {record.name: record for record in self.store.list(POD).records}
        for key, name in list(self._current.items()):
            record = records.get(name)
            if record is None:
                self._ended(key)
            elif record.deleting and self._due.setdefault(name, now + self._grace) <= now:
                self._release(name)

    def _ended(self, key: str) -> None:
        self.ended[key.split(".", maxsplit=1)[0]] += 1
        del self._current[key]
        if key in self._make:
            self._create(key)

    def _create(self, key: str) -> None:
        self._numbers[key] += 1
        name = f"{key.replace('.', '-')}-{self._numbers[key]}"
        body = json.loads(self._make[key](name))
        if self._grace:
            body["metadata"]["finalizers"] = ["example.com/grace"]
        self._current[key] = name
        self.submit(json.dumps(body).encode())

    def _release(self, name: str) -> None:
        patch = Patch("default", name, {"metadata": {"finalizers": None}})
        self.store.patch(POD, [patch])
