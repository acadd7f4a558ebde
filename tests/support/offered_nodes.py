"""A master and a scheduler over the nodes of one memory store, in virtual time."""

import json
from typing import Any

from stretto.api.wire.kinds import NODE, POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import load_profile
from stretto.offers.allocator.subjects.settings import DEFAULTS, AllocatorSettings
from stretto.offers.master.master import CycleTime
from stretto.offers.master.state.outbox import AgentMessage, StreamEvent
from stretto.offers.master.storage.contract import MasterJournal
from stretto.offers.master.storage.objects import MasterObjects
from stretto.offers.nodes.pods import PodSettings
from stretto.plane.config import PlaneConfig
from stretto.plane.offers import OfferingPlane
from stretto.state.queries.invariants import check_all
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from stretto.testing import make_node
from tests.support.mesos import Body, MesosBench, scalar

SCHEDULER = "stretto"
SETTINGS = PodSettings(scheduler=SCHEDULER)


class PoolBench(MesosBench):
    """One pool: nodes, pods, frameworks."""

    def __init__(
        self,
        *nodes: bytes,
        allocation: AllocatorSettings = DEFAULTS,
        store: MemoryStore | None = None,
        clock: ManualClock | None = None,
        pods: PodSettings = SETTINGS,
        **settings: Any,
    ) -> None:
        self.pool: OfferingPlane | None = None
        clock = clock or ManualClock(1000.0)
        self.store = store or MemoryStore(clock, Rng(2))
        stored = MasterObjects(self.store, "default", "master")
        cycles = CycleTime.ON_CALL
        super().__init__(allocation, stored=stored, clock=clock, cycles=cycles, **settings)
        self.create(NODE, *nodes)
        config = PlaneConfig(profile=load_profile("default"), tier="numpy")
        self.pool = OfferingPlane(config, self.store, self.clock, self.master.state, pods)
        self.settle()

    def create(self, kind: Kind, *bodies: bytes) -> None:
        for reply in self.store.create(kind, bodies):
            assert reply.outcome.value == "ok", reply

    def settle(self) -> None:
        assert self.pool is not None
        for _ in range(50):
            moved = self.pool.plane.step()
            self.collect()
            if not moved:
                break
        assert not check_all(self.pool.plane.cluster)

    def restarted(self) -> "PoolBench":
        """Another master and scheduler over the same store, after this one was killed."""
        self.stop()
        return PoolBench(store=self.store, clock=self.clock)

    def stop(self) -> None:
        """Kill master and scheduler."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    def wait(self, seconds: float) -> None:
        self.advance(seconds)
        self.settle()

    def collect(self) -> None:
        if self.pool is None:
            super().collect()
            return
        self.pool.nodes.claim()
        for _ in range(50):
            if not self.master.is_cycle_due:
                break
            self.master.cycle(most=8)
            self.pool.nodes.claim()
        if self._file is not None:
            MasterJournal(self._file, self.master.state).save()
        for effect in self.master.effects():
            if isinstance(effect, AgentMessage) and not self.pool.nodes.deliver(effect):
                self.sent.append(effect)
            elif isinstance(effect, StreamEvent):
                self.events.append(effect.event)

    def offer(self) -> Body:
        """The last offer."""
        return self.offers()[-1]

    def start(self, framework_id: str, task_id: str, cpus: float = 1.0, **more: Any) -> None:
        """Launch a task on the last offer."""
        info = {
            "name": task_id,
            "task_id": {"value": task_id},
            "agent_id": self.offer()["agent_id"],
            "resources": [scalar("cpus", cpus), scalar("mem", 32)],
            "command": {"value": "sleep 5"},
        }
        self.launch(framework_id, info | more)
        self.settle()

    def pods(self) -> list[Body]:
        return [json.loads(render(record)) for record in self.store.list(POD).records]

    def set_phase(self, name: str, phase: str, **container: Any) -> None:
        """The kubelet reports a phase, and the state of the first container."""
        status: Body = {"phase": phase}
        if container:
            status["containerStatuses"] = [{"name": "task-0", "state": container}]
        self.store.patch_status(POD, [Patch("default", name, {"status": status})])
        self.settle()

    def acknowledge(self, framework_id: str) -> None:
        """Acknowledge every update that needs it."""
        for event in self.events:  # an acknowledgement may bring the next update
            status = event.get("update", {}).get("status", {})
            if "uuid" in status:
                body = {key: status[key] for key in ("agent_id", "task_id", "uuid")}
                self.call(framework_id, "ACKNOWLEDGE", **body)
                self.settle()

    def resize(self, name: str, **amounts: str) -> None:
        """A node has other amounts."""
        status = {"status": {"allocatable": amounts}}
        self.store.patch_status(NODE, [Patch("", name, status)])
        self.settle()

    def delete(self, kind: Kind, name: str, namespace: str = "") -> None:
        self.store.delete(kind, [Deletion(namespace, name)])
        self.settle()


def node(name: str, cpu: str = "4", memory: str = "4Gi", **more: Any) -> bytes:
    return make_node(name, cpu=cpu, memory=memory, **more)
