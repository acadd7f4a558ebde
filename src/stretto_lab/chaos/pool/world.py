"""A store with a scheduler and a master, frameworks that answer offers, and a kubelet, in steps.

Each step is drawn from the seed. Users create and delete pods and queues. Nodes are added, shrunk,
cordoned, silent or removed. Frameworks answer, lose messages and disconnect. Pods run and end.
Answers of the store are lost and its events are late. The process of master and scheduler is killed
and starts again.
"""

import json
from collections.abc import Callable
from typing import Final

import msgspec

from stretto.api.wire.kinds import NODE, POD, QUEUE
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import load_profile
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import DEFAULTS, MESOS
from stretto.offers.master.api.http import HttpAnswer, MasterRequest
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import CycleTime, Master
from stretto.offers.master.state.outbox import AgentMessage, StreamEvent
from stretto.offers.master.storage.contract import MasterJournal
from stretto.offers.master.storage.objects import MasterObjects
from stretto.offers.master.storage.recovery import recover
from stretto.offers.nodes.pods import PodSettings
from stretto.plane.config import PlaneConfig
from stretto.plane.offers import OfferingPlane
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.render import render
from stretto.stores.store import Deletion, Patch
from stretto_lab.chaos.pool.frameworks import FrameworkClient
from stretto_lab.chaos.pool.losses import LossyStore
from stretto_lab.chaos.pool.objects import PoolPod, PoolPods
from stretto_lab.chaos.pool.shapes import (
    PORTS,
    QUEUES,
    SCHEDULER,
    Body,
    drawn_allocatable,
    drawn_node,
    drawn_pod,
    drawn_queue,
)

ROLES: Final = ("a", "b", "a/x", "*")
"""Roles of frameworks; ``a``, ``b`` and ``x`` below ``a`` are queues."""


_UPDATES: Final = 4
"""Maximum number of updates until the end of a task: starting, running, ended."""
CYCLES: Final = 100
"""Maximum number of cycles after a step; a few suffice unless cycles make each other due."""


class PoolWorld:
    """One pool."""

    def __init__(self, seed: int) -> None:
        """Start with two nodes, the queues and one framework."""
        self.rng = Rng(seed).child("pool")
        self.clock = ManualClock(1000.0)
        self.inner = MemoryStore(self.clock, self.rng.child("store"))
        self.store = LossyStore(self.inner, self.rng.child("losses"), self.clock)
        chosen = self.rng.choice((DEFAULTS, MESOS))
        self.allocation = msgspec.structs.replace(chosen, nested_quota=True)
        self.frameworks: list[FrameworkClient] = []
        self.trace: list[str] = []
        self.terms = 0
        #: True if cycles make each other due endlessly.
        self.is_restless = False
        self._names = 0
        self._exit_codes: dict[str, dict[int, int]] = {}
        self._pods = PoolPods(self.inner)
        self.start()
        for _ in range(2):
            self.add_node()
        self.change_queue()
        self.subscribe()

    # ------------------------------------------------------------ master and scheduler

    def start(self) -> None:
        """Start the process of master and scheduler."""
        self.terms += 1
        stored = MasterObjects(self.inner, "default", "master")
        known = stored.identity()
        rng = self.rng.child("term", self.terms)
        settings = MasterSettings(
            id=known.id if known else "m", offer_timeout=30.0, timed_out_refuse=5.0
        )
        allocator = make_allocator(rng, self.allocation)
        self.master = Master(settings, allocator, self.clock, rng, CycleTime.ON_CALL)
        recover(self.master.state, stored)
        config = PlaneConfig(
            profile=load_profile("default"), tier="numpy", seed=rng.randint(0, 1 << 30)
        )
        pods = PodSettings(scheduler=SCHEDULER, ports=PORTS)
        self.pool = OfferingPlane(config, self.store, self.clock, self.master.state, pods)
        self.journal = MasterJournal(stored, self.master.state)

    def crash(self) -> None:
        """Kill the process and restart it."""
        self.pool.close()
        for each in self.frameworks:
            each.lose()
        self.start()

    def use_again(self) -> None:
        """End a task whose framework reuses the id while the pod still exists.

        In half of the cases the process is killed before its next step.
        """
        busy = [each for each in self.frameworks if each.is_connected and each.tasks]
        if not busy:
            return
        client = self.rng.choice(busy)
        for pod in self.pods():
            if pod.holds and any(task in client.tasks for task, _ in pod.tasks):
                self._set_phase(pod, self.rng.choice(("Succeeded", "Failed")))
                break
        for _ in range(_UPDATES):
            self.plane_step()
            if client.use_again(self):
                break
        if self.rng.random() < 0.5:
            self.crash()

    def flush(self) -> None:
        """Charge, store and send the effects of a step of the master, and the offers of cycles."""
        self.pool.nodes.claim()
        for _ in range(CYCLES):
            if not self.master.is_cycle_due:
                break
            self.master.cycle(self.rng.choice((1, 2, 8)))
            self.pool.nodes.claim()
        self.is_restless = self.master.is_cycle_due
        self.journal.save()
        for effect in self.master.effects():
            if isinstance(effect, AgentMessage):
                self.pool.nodes.deliver(effect)
            elif isinstance(effect, StreamEvent):
                for each in self.frameworks:
                    each.receive(effect.stream.id, effect.event)

    def call(self, body: Body, stream: str = "") -> HttpAnswer:
        """Send a call of a framework."""
        headers = {"content-type": "application/json"}
        if stream:
            headers["mesos-stream-id"] = stream
        request = MasterRequest("POST", "/api/v1/scheduler", headers, json.dumps(body).encode())
        answer = self.master.answer(request)
        client = next((each for each in self.frameworks if each.awaits), None)
        if client is not None and answer.stream is not None:
            client.open(answer.stream, answer.headers["Mesos-Stream-Id"])
        self.flush()
        return answer

    def plane_step(self) -> bool:
        """Step the scheduler."""
        moved = self.pool.plane.step()
        self.flush()
        return moved

    def settle(self) -> None:
        """Step the scheduler until nothing changes."""
        for _ in range(30):
            if not self.plane_step():
                return

    # ------------------------------------------------------------ steps

    def step(self) -> None:
        """Run one random step."""
        name = self.rng.choice(_DRAWN)
        self.trace.append(name)
        STEPS[name](self)

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def nodes(self) -> list[Body]:
        """All nodes."""
        return [json.loads(render(each)) for each in self.inner.list(NODE).records]

    def pods(self) -> list[PoolPod]:
        """All pods."""
        return self._pods.read()

    def advance(self) -> None:
        """Advance the time, and run timers."""
        self.clock.advance(self.rng.choice((0.1, 1.0, 1.0, 5.0, 16.0)))
        self.store.deliver()
        self.master.run_timers()
        self.flush()

    def add_node(self) -> None:
        """Add a node."""
        if len(self.inner.list(NODE).records) < 5:
            self.inner.create(NODE, [drawn_node(self.rng, self._name("n"))])

    def _patch_node(self, patch: Body, *, is_status: bool = False) -> None:
        nodes = self.nodes()
        if nodes:
            name = self.rng.choice(nodes)["metadata"]["name"]
            write = self.inner.patch_status if is_status else self.inner.patch
            write(NODE, [Patch("", name, patch)])

    def cordon(self) -> None:
        """Cordon or uncordon a node."""
        self._patch_node({"spec": {"unschedulable": self.rng.random() < 0.4}})

    def readiness(self) -> None:
        """Make the kubelet of a node answer, or not answer."""
        status = "True" if self.rng.random() < 0.7 else "Unknown"
        conditions = [{"type": "Ready", "status": status}]
        self._patch_node({"status": {"conditions": conditions}}, is_status=True)

    def shrink(self) -> None:
        """Change an allocatable amount of a node."""
        changed = {"status": {"allocatable": drawn_allocatable(self.rng)}}
        self._patch_node(changed, is_status=True)

    def remove_node(self) -> None:
        """Remove a node."""
        nodes = self.nodes()
        if len(nodes) > 2:
            name = self.rng.choice(nodes)["metadata"]["name"]
            self.inner.delete(NODE, [Deletion("", name)])

    def add_pod(self) -> None:
        """Create a pod for a user."""
        if len(self.inner.list(POD).records) > 25:
            return
        self.inner.create(POD, [drawn_pod(self.rng, self._name("p"))])

    def delete_pod(self) -> None:
        """Delete a pod for a user."""
        pods = self.pods()
        if pods:
            self.inner.delete(POD, [Deletion("default", self.rng.choice(pods).name)])

    def kubelet(self) -> None:
        """Start or end some pods on nodes."""
        for pod in self.pods():
            if not pod.node or self.rng.random() < 0.4:
                continue
            if pod.phase == "Pending":
                self._set_phase(pod, "Running")
            elif pod.phase == "Running" and self.rng.random() < 0.4:
                self._set_phase(pod, self.rng.choice(("Succeeded", "Failed")))

            elif pod.phase == "Running" and len(pod.tasks) > 1:
                self._end_one(pod)

    def _end_one(self, pod: PoolPod) -> None:
        """End one container of a pod."""
        codes = self._exit_codes.setdefault(pod.uid, {})
        codes.setdefault(self.rng.randint(0, len(pod.tasks) - 1), self.rng.choice((0, 0, 1)))
        listed = [
            {"name": f"task-{number}", "state": {"terminated": {"exitCode": code}}}
            for number, code in codes.items()
        ]
        body = {"status": {"containerStatuses": listed}}
        self.inner.patch_status(POD, [Patch("default", pod.name, body)])

    def _set_phase(self, pod: PoolPod, phase: str) -> None:
        self.inner.patch_status(POD, [Patch("default", pod.name, {"status": {"phase": phase}})])

    def change_queue(self) -> None:
        """Change the queues for a user."""
        for name in QUEUES[:3]:
            spec = drawn_queue(self.rng, name)
            meta = {"name": name}
            body = {"apiVersion": QUEUE.api_version, "kind": "Queue", "metadata": meta}
            reply = self.inner.create(QUEUE, [msgspec.json.encode(body | {"spec": spec})])[0]
            if reply.outcome.value != "ok":
                changed = {"limit": None, "guarantee": None} | spec
                self.inner.patch(QUEUE, [Patch("", name, {"spec": changed})])

    def subscribe(self) -> None:
        """Subscribe a framework, for the first time or again."""
        lost = [each for each in self.frameworks if not each.is_connected]
        if lost:
            self.rng.choice(lost).subscribe(self)
        elif len(self.frameworks) < 4:
            client = FrameworkClient(self.rng.choice(ROLES), self.rng.child(self._name("f")))
            self.frameworks.append(client)
            client.subscribe(self)

    def framework(self) -> None:
        """Let a framework send a call."""
        connected = [each for each in self.frameworks if each.is_connected]
        if connected:
            self.rng.choice(connected).act(self)

    def disconnect(self) -> None:
        """Disconnect a framework."""
        connected = [each for each in self.frameworks if each.is_connected]
        if connected:
            client = self.rng.choice(connected)
            stream = client.stream
            client.lose()
            if stream is not None:
                self.master.closed(stream)
                self.flush()

    # ------------------------------------------------------------ heal

    def heal(self) -> None:
        """End all faults: nodes are schedulable and answer, frameworks return without tasks."""
        self.store.heal()
        for node in self.nodes():
            name, ready = node["metadata"]["name"], [{"type": "Ready", "status": "True"}]
            self.inner.patch(NODE, [Patch("", name, {"spec": {"unschedulable": False}})])
            conditions = {"status": {"conditions": ready}}
            self.inner.patch_status(NODE, [Patch("", name, conditions)])
        self.settle()
        for each in self.frameworks:
            if not each.is_connected:
                each.subscribe(self)
            each.rest(self)

    def recover(self) -> None:
        """Run five seconds without faults."""
        self.settle()
        for each in self.frameworks:
            each.rest(self)
        self.clock.advance(5.0)
        self.master.run_timers()
        self.flush()
        self.settle()


STEPS: Final[dict[str, Callable[[PoolWorld], object]]] = {
    "plane": PoolWorld.plane_step,
    "settle": PoolWorld.settle,
    "advance": PoolWorld.advance,
    "add node": PoolWorld.add_node,
    "cordon": PoolWorld.cordon,
    "readiness": PoolWorld.readiness,
    "shrink": PoolWorld.shrink,
    "remove node": PoolWorld.remove_node,
    "add pod": PoolWorld.add_pod,
    "delete pod": PoolWorld.delete_pod,
    "kubelet": PoolWorld.kubelet,
    "queue": PoolWorld.change_queue,
    "subscribe": PoolWorld.subscribe,
    "framework": PoolWorld.framework,
    "disconnect": PoolWorld.disconnect,
    "crash": PoolWorld.crash,
    "use again": PoolWorld.use_again,
}
"""Steps by name."""
_WEIGHTS: Final = {
    "plane": 12,
    "advance": 6,
    "framework": 24,
    "subscribe": 4,
    "add pod": 4,
    "kubelet": 4,
    "use again": 6,
}
_DRAWN: Final = tuple(name for name in STEPS for _ in range(_WEIGHTS.get(name, 1)))
