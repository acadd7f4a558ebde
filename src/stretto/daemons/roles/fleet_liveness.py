"""Liveness of shards, from the heartbeats on their Scheduler objects.

A shard updates its object periodically. The local monotonic clock measures the age of a heartbeat
from the moment at which it was seen. Therefore neither the clock of another machine nor a clock
jump marks a shard as dead. A shard that is new or seen for the first time has the full timeout.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from stretto.api.types.handover_annotations import heartbeat, scheduler_body
from stretto.api.wire.kinds import SCHEDULER
from stretto.base.clock import Clock, timestamp
from stretto.stores.reflector import Reflector
from stretto.stores.store import (
    Deletion,
    EventType,
    Listing,
    Patch,
    Record,
    Store,
    WatchEvent,
    WriteOutcome,
)

DEAD_AFTER: Final = 120.0
"""Seconds without a heartbeat after which a shard is dead, as in Gödel."""
BEAT_EVERY: Final = 30.0
"""Seconds between heartbeats, as in Gödel."""
AGAIN_AFTER: Final = 2.0
"""Seconds before a failed write is retried."""


class ShardMember(msgspec.Struct):
    """One shard."""

    #: Its name.
    name: str
    #: Its number in the dispatcher; never reused.
    number: int
    #: Last record of its object; ``None`` after its deletion.
    record: Record | None
    #: Clock time of the last change.
    seen_at: float
    #: True if the shard is alive.
    alive: bool = True


class ShardFleet:
    """Tracks the Scheduler objects."""

    def __init__(self, store: Store, dead_after: float = DEAD_AFTER) -> None:
        """Create an empty fleet; the first ``poll`` lists."""
        #: Every shard ever seen, by name.
        self.members: dict[str, ShardMember] = {}
        self._store = store
        self._dead_after = dead_after
        self._reflector = Reflector(store, SCHEDULER, self)
        self._remove_dead_at: dict[str, float] = {}

    def alive(self) -> list[ShardMember]:
        """Live shards, by number."""
        return [member for member in self.members.values() if member.alive]

    def is_alive(self, name: str) -> bool:
        """Return whether the shard exists and is alive."""
        member = self.members.get(name)
        return member is not None and member.alive

    def poll(self, now: float) -> bool:
        """Update liveness; True if any shard joined, expired or recovered."""
        before = {name: member.alive for name, member in self.members.items()}
        self._reflector.poll(now)
        for member in self.members.values():
            is_late = now - member.seen_at >= self._dead_after
            member.alive = member.record is not None and not is_late
            if member.record is not None and is_late:
                self._remove_dead(member, now)
        return before != {name: member.alive for name, member in self.members.items()}

    def next_due(self) -> float:
        """Clock time at which the next shard expires without a heartbeat."""
        return min((m.seen_at + self._dead_after for m in self.alive()), default=float("inf"))

    def known(self) -> Mapping[str, Record]:
        """Last records of existing Scheduler objects, by uid."""
        records = (member.record for member in self.members.values())
        return {record.uid: record for record in records if record is not None}

    def apply(self, events: Sequence[WatchEvent], now: float) -> None:
        """Process changes of Scheduler objects."""
        for event in events:
            if event.type is EventType.DELETED:
                member = self.members.get(event.record.name)
                if member is not None:
                    member.record = None
            else:
                self._see(event.record, now)

    def listed(self, listing: Listing) -> None:
        """Do nothing: the differences are already applied."""

    def _see(self, record: Record, now: float) -> None:
        member = self.members.get(record.name)
        if member is None:
            self.members[record.name] = ShardMember(record.name, len(self.members), record, now)
        elif member.record is None or member.record.version < record.version:
            member.record, member.seen_at = record, now

    def _remove_dead(self, member: ShardMember, now: float) -> None:
        """Delete the object of a dead shard, unless it has changed in the meantime."""
        record = member.record
        if record is None or self._remove_dead_at.get(member.name, now) > now:
            return
        self._remove_dead_at[member.name] = now + AGAIN_AFTER
        self._store.delete(SCHEDULER, [Deletion("", record.name, record.uid, record.version)])


class ShardHeartbeat:
    """Registers one shard and writes its heartbeat."""

    def __init__(self, store: Store, name: str, clock: Clock, every: float = BEAT_EVERY) -> None:
        """Create the heartbeat; the first one is due immediately."""
        self._store = store
        self._name = name
        self._clock = clock
        self._every = every
        self._next = float("-inf")

    def next_due(self) -> float:
        """Clock time of the next heartbeat."""
        return self._next

    def beat(self, now: float) -> None:
        """Write the heartbeat if it is due; the object is created if it is missing."""
        if now < self._next:
            return
        self._next = now + self._every
        if self._store.get(SCHEDULER, "", self._name) is None:
            body = scheduler_body(SCHEDULER.api_version, self._name)
            self._store.create(SCHEDULER, [msgspec.json.encode(body)])
        said = heartbeat(timestamp(self._clock.now()))
        reply = self._store.patch_status(SCHEDULER, [Patch("", self._name, said)])[0]
        if reply.outcome is not WriteOutcome.OK:
            self._next = now + AGAIN_AFTER
