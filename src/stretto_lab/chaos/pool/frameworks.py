"""A framework of the simulator, which launches, kills, acknowledges, and loses messages."""

from typing import Any, Protocol

from stretto.base.rng import Rng
from stretto.offers.master.state.outbox import ClientStream
from stretto_lab.chaos.pool.operations import (
    PRINCIPAL,
    Body,
    drawn_group,
    drawn_operations,
    drawn_task,
    launch_of,
)

ENDED = frozenset({"TASK_FINISHED", "TASK_FAILED", "TASK_KILLED", "TASK_LOST", "TASK_ERROR"})
"""States in which a framework removes a task."""

GROUPED = 0.25
"""Share of the launches that are groups."""

REUSED = 0.8
"""Probability that a task gets the id of an ended one, if there is one."""


class CallSender(Protocol):
    """Sender of calls to the master."""

    def call(self, body: Body, stream: str = "") -> object:
        """Send a call, on a stream if there is one."""
        ...


class FrameworkClient:
    """One framework in one role."""

    def __init__(self, role: str, rng: Rng) -> None:
        """Create a framework that has not subscribed."""
        self.role = role
        self.id = ""
        self.stream: ClientStream | None = None
        self.awaits = False
        #: Offers that the framework may answer, by id.
        self.offers: dict[str, Body] = {}
        #: Last reported state of each task.
        self.tasks: dict[str, str] = {}
        #: Tasks that the framework has killed.
        self.killed: set[str] = set()
        #: Number of launches by task; the ids of ended tasks are reused.
        self.launches: dict[str, int] = {}
        #: Updates without an acknowledgement.
        self.updates: list[Body] = []
        self._header = ""
        self._rng = rng
        self._ended: list[str] = []
        self._capabilities = ["MULTI_ROLE", "RESERVATION_REFINEMENT"]
        self._capabilities += ["GPU_RESOURCES"] * (rng.random() < 0.6)

    @property
    def is_connected(self) -> bool:
        """True if its stream is open."""
        return self.stream is not None

    def subscribe(self, world: CallSender) -> None:
        """Subscribe, for the first time or again."""
        info: Body = {
            "user": "u",
            "name": "f",
            "failover_timeout": 1e6,
            "roles": [self.role],
            "principal": PRINCIPAL,
            "capabilities": [{"type": each} for each in self._capabilities],
        }
        call: Body = {"type": "SUBSCRIBE", "subscribe": {"framework_info": info}}
        if self.id:
            info["id"] = {"value": self.id}
            call["framework_id"] = {"value": self.id}
        self.awaits = True
        world.call(call)
        self.awaits = False

    def open(self, stream: ClientStream, header: str) -> None:
        """Record the open stream."""
        self.stream, self._header = stream, header

    def lose(self) -> None:
        """Record the closed stream."""
        self.stream = None
        self.offers.clear()

    def receive(self, stream_id: str, event: Body) -> None:
        """Handle an event if it is for this framework."""
        if self.stream is None or self.stream.id != stream_id:
            return
        kind = event["type"]
        if kind == "SUBSCRIBED":
            self.id = event["subscribed"]["framework_id"]["value"]
        elif kind == "OFFERS":
            self.offers |= {each["id"]["value"]: each for each in event["offers"]["offers"]}
        elif kind == "RESCIND":
            self.offers.pop(event["rescind"]["offer_id"]["value"], None)
        elif kind == "UPDATE":
            status = event["update"]["status"]
            if self.tasks.get(status["task_id"]["value"]) not in ENDED:
                self.tasks[status["task_id"]["value"]] = status["state"]
            if "uuid" in status:
                self.updates.append(status)
        elif kind == "ERROR":
            self.lose()

    def rest(self, world: CallSender) -> None:
        """Suppress offers, acknowledge all updates, reconcile all tasks, and repeat kills."""
        if not self.is_connected:
            return
        self._send(world, "SUPPRESS")
        for name in sorted(self.offers):
            self.offers.pop(name)
            self._send(world, "DECLINE", offer_ids=[{"value": name}])
        updates, self.updates = self.updates, []
        for status in updates:
            wanted = ("agent_id", "task_id", "uuid")
            self._send(world, "ACKNOWLEDGE", **{key: status[key] for key in wanted})
        alive = sorted(name for name, state in self.tasks.items() if state not in ENDED)
        tasks = [{"task_id": {"value": each}} for each in alive]
        if tasks:
            self._send(world, "RECONCILE", tasks=tasks)
        for name in sorted(self.killed.intersection(alive)):
            self._send(world, "KILL", task_id={"value": name})

    def act(self, world: CallSender) -> None:
        """Send one random call."""
        draw = self._rng.random()
        if draw < 0.35:
            self.acknowledge(world)
        elif draw < 0.45:
            self._kill(world)
        elif draw < 0.5:
            self._send(world, self._rng.choice(("REVIVE", "SUPPRESS", "REVIVE")))
        elif draw < 0.55:
            self._send(world, "RECONCILE", tasks=[])
        elif self.offers:
            self._answer(world)

    def use_again(self, world: CallSender) -> bool:
        """Launch tasks with ids of tasks whose end is acknowledged now; false if there are none."""
        is_ended = any(self.tasks.get(e["task_id"]["value"]) in ENDED for e in self.updates)
        self._acknowledge_all(world, 1.0)
        if is_ended and self.offers:
            self._answer(world)
        return is_ended

    def acknowledge(self, world: CallSender) -> None:
        """Acknowledge all updates; some acknowledgements are lost."""
        self._acknowledge_all(world, 0.9)

    def _acknowledge_all(self, world: CallSender, odds: float) -> None:
        updates, self.updates = self.updates, []
        for status in updates:
            if self._rng.random() < odds:
                wanted = ("agent_id", "task_id", "uuid")
                self._send(world, "ACKNOWLEDGE", **{key: status[key] for key in wanted})
                self._note_end(status["task_id"]["value"])

    def _note_end(self, name: str) -> None:
        """Record an acknowledged end unless it is recorded; the id can be reused from now on."""
        if self.tasks.get(name) in ENDED and name not in self._ended:
            self._ended.append(name)

    def _kill(self, world: CallSender) -> None:
        alive = sorted(name for name, state in self.tasks.items() if state not in ENDED)
        if alive:
            name = self._rng.choice(alive)
            self.killed.add(name)
            self._send(world, "KILL", task_id={"value": name})

    def _answer(self, world: CallSender) -> None:
        """Decline an offer, or launch tasks on it."""
        name = self._rng.choice(sorted(self.offers))
        offer = self.offers.pop(name)
        filters = {"refuse_seconds": self._rng.choice((0.0, 1.0, 5.0))}
        if self._rng.random() < 0.3:
            self._send(world, "DECLINE", offer_ids=[offer["id"]], filters=filters)
            return
        operations = drawn_operations(self._rng, offer)
        is_group = self._rng.random() < GROUPED
        number, most = (2, 0.4) if is_group else (self._rng.randint(1, 3), 1.0)
        tasks = [self._task(offer, most) for _ in range(number)]
        launched = drawn_group(self._rng, tasks, self.id) if is_group else launch_of(tasks)
        operations.append(launched)
        ids = [offer["id"]]
        self._send(world, "ACCEPT", offer_ids=ids, operations=operations, filters=filters)

    def _task(self, offer: Body, most: float) -> Body:
        if self._ended and self._rng.random() < REUSED:
            name = self._ended.pop()
            self.killed.discard(name)
        else:
            name = f"{self.id}.t{len(self.launches) + 1}"
        self.launches[name] = self.launches.get(name, 0) + 1
        self.tasks[name] = "TASK_STAGING"
        return drawn_task(self._rng, name, offer, most)

    def _send(self, world: CallSender, kind: str, **body: Any) -> None:
        call = {"type": kind, "framework_id": {"value": self.id}, kind.lower(): body}
        world.call(call, self._header)
