"""The complete state of a master, with its clock, timers, ids and outbox."""

from collections import Counter
from typing import Final

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.offers.allocator.contract import OfferAllocator
from stretto.offers.master.core.settings import VERSION, MasterSettings
from stretto.offers.master.state.agents import RegisteredAgents
from stretto.offers.master.state.changes import ChangeSet, StoredEntity
from stretto.offers.master.state.frameworks import Framework, FrameworkTable
from stretto.offers.master.state.machines import Machines
from stretto.offers.master.state.offers import OfferTable
from stretto.offers.master.state.outbox import ClientStream, EventKind, Outbox
from stretto.offers.master.state.timers import Timers
from stretto.offers.messages.schema import Message


class MasterState:
    """The state of one master; functions of this package change it."""

    def __init__(
        self, settings: MasterSettings, allocator: OfferAllocator, clock: Clock, rng: Rng
    ) -> None:
        """Start without frameworks and agents.

        Args:
            settings: addresses and intervals.
            allocator: decides about the offers of frameworks.
            clock: source of all times.
            rng: source of stream ids.
        """
        #: Settings.
        self.settings: Final = settings
        #: The allocator.
        self.allocator: Final = allocator
        #: The clock.
        self.clock: Final = clock
        #: Unsent effects of the current step.
        self.outbox: Final = Outbox()
        #: Changes since the last stored state.
        self.changes: Final = ChangeSet()
        #: Pending actions.
        self.timers: Final = Timers()
        #: Frameworks.
        self.frameworks: Final = FrameworkTable()
        #: Agents.
        self.agents: Final = RegisteredAgents()
        #: Outstanding offers.
        self.offers: Final = OfferTable(settings.id)
        #: Machines under maintenance.
        self.machines: Final = Machines()
        #: QuotaConfig messages by role, oldest first.
        self.quotas: Final[dict[str, Message]] = {}
        #: Weights by role, oldest first.
        self.weights: Final[dict[str, float]] = {}
        #: Streams of operator events by id.
        self.subscribers: Final[dict[str, ClientStream]] = {}
        #: Counters by the name of the metric.
        self.counters: Final[Counter[str]] = Counter()
        #: Start of this master.
        self.started_at: Final = clock.now()
        #: Killed tasks, for agents that return: framework and id.
        self.killed: Final[set[tuple[str, str]]] = set()
        #: Log verbosity that the operator has set.
        self.logging_level = 0
        self._rng = rng.child("master")
        self._next_framework = 0
        self._next_agent = 0
        self._next_launch = 0

    @property
    def now(self) -> float:
        """Monotonic time in seconds, for durations."""
        return self.clock.monotonic()

    @property
    def wall(self) -> float:
        """Wall time in seconds, for messages."""
        return self.clock.now()

    def changed(self, *entities: StoredEntity) -> None:
        """Record that entities were added, changed or removed."""
        for each in entities:
            self.changes.add(*each.entity)

    def next_framework_id(self) -> str:
        """A new id of a framework."""
        self._next_framework += 1
        return f"{self.settings.id}-{self._next_framework - 1:04d}"

    def next_agent_id(self) -> str:
        """A new id of an agent."""
        self._next_agent += 1
        return f"{self.settings.id}-S{self._next_agent - 1}"

    def next_launch(self) -> int:
        """The number of the next task."""
        self._next_launch += 1
        return self._next_launch

    def skip_ids(self, frameworks: int, agents: int, launches: int) -> None:
        """Continue the numbers of an earlier run."""
        self._next_framework = max(self._next_framework, frameworks)
        self._next_agent = max(self._next_agent, agents)
        self._next_launch = max(self._next_launch, launches)

    @property
    def issued(self) -> tuple[int, int, int]:
        """Numbers of issued ids of frameworks, agents and tasks."""
        return self._next_framework, self._next_agent, self._next_launch

    def wants_killed(self, framework_id: str, task_id: str) -> None:
        """Record the kill of a task until the task ends."""
        self.killed.add((framework_id, task_id))

    def new_stream(self, kind: EventKind, protobuf: bool) -> ClientStream:
        """A new event stream."""
        return ClientStream(self._rng.uid(), kind, protobuf)

    def set_logging_level(self, level: int) -> None:
        """Set the verbosity of logs."""
        self.logging_level = level

    def send(self, framework: Framework, event: Message) -> None:
        """Send an event to a framework if it is connected."""
        if framework.stream is None:
            return
        self.outbox.event(framework.stream, event)
        framework.count("events")
        framework.count(f"events/{event['type'].lower()}")

    def publish(self, event: Message) -> None:
        """Send an event to all subscribed operators."""
        for stream in self.subscribers.values():
            self.outbox.event(stream, event)

    def master_info(self) -> Message:
        """The MasterInfo message."""
        settings = self.settings
        parts = [int(part) for part in settings.ip.split(".")]
        info: Message = {
            "id": settings.id,
            "ip": sum(part << (8 * index) for index, part in enumerate(parts)),
            "port": settings.port,
            "pid": settings.pid,
            "hostname": settings.hostname,
            "version": VERSION,
            "address": {
                "hostname": settings.hostname,
                "ip": settings.ip,
                "port": settings.port,
            },
            "capabilities": [
                {"type": each} for each in ("AGENT_UPDATE", "AGENT_DRAINING", "QUOTA_V2")
            ],
        }
        if settings.region:
            info["domain"] = {
                "fault_domain": {
                    "region": {"name": settings.region},
                    "zone": {"name": settings.zone},
                }
            }
        return info
