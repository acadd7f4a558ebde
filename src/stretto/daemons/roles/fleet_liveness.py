"""The shards there are, by their Scheduler objects, and which of them live.

A shard tells that it lives by changing its object now and then. How long ago that was is measured
by our own clock from the moment we saw it, so that no clock of another machine, nor a jump of
ours, declares anybody dead; and a shard that has only just come, or whom we see for the first time,
has all of its time before it.
"""

from typing import Final

import msgspec

from stretto.api.types.handover_annotations import heartbeat, scheduler_body
from stretto.api.wire.kinds import SCHEDULER
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import TooOldError
from stretto.stores.store import Deletion, EventType, Patch, Record, Store, Watch, WriteOutcome

DEAD_AFTER: Final = 120.0
"""Seconds without a sign of life after which a shard is dead, as in Gödel."""
BEAT_EVERY: Final = 30.0
"""Seconds between signs of life, as in Gödel."""
AGAIN_AFTER: Final = 2.0
"""Seconds before a write that failed is tried again."""


class ShardMember(msgspec.Struct):
    """One shard."""

    #: Its name.
    name: str
    #: Its number, by which the dispatcher knows it; never another's.
    number: int
    #: Its object as it was seen last; ``None`` once that is gone.
    record: Record | None
    #: Clock time at which it was last seen to change.
    seen_at: float
    #: Whether it lives.
    alive: bool = True


class ShardFleet:
    """Follows the Scheduler objects."""

    def __init__(self, store: Store, dead_after: float = DEAD_AFTER) -> None:
        """A fleet of which nothing is known yet."""
        #: Every shard ever seen, by name.
        self.members: dict[str, ShardMember] = {}
        self._store = store
        self._dead_after = dead_after
        self._watch: Watch | None = None
        self._remove_dead_at: dict[str, float] = {}

    def alive(self) -> list[ShardMember]:
        """Those who live, by number."""
        return [member for member in self.members.values() if member.alive]

    def is_alive(self, name: str) -> bool:
        """Whether there is such a shard and it lives."""
        member = self.members.get(name)
        return member is not None and member.alive

    def poll(self, now: float) -> bool:
        """Follow the objects and the time; whether somebody came, died or rose again."""
        before = {name: member.alive for name, member in self.members.items()}
        if self._watch is None:
            self._list(now)
        else:
            self._follow(self._watch, now)
        for member in self.members.values():
            is_late = now - member.seen_at >= self._dead_after
            member.alive = member.record is not None and not is_late
            if member.record is not None and is_late:
                self._remove_dead(member, now)
        return before != {name: member.alive for name, member in self.members.items()}

    def next_due(self) -> float:
        """Clock time at which the next shard dies, if it gives no sign of life."""
        return min((m.seen_at + self._dead_after for m in self.alive()), default=float("inf"))

    def _list(self, now: float) -> None:
        listing = self._store.list(SCHEDULER)
        for record in listing.records:
            self._see(record, now)
        present = {record.name for record in listing.records}
        for member in self.members.values():
            if member.name not in present:
                member.record = None
        self._watch = self._store.watch(SCHEDULER, listing.version)

    def _follow(self, watch: Watch, now: float) -> None:
        try:
            events = watch.poll()
        except TooOldError:
            watch.close()
            self._list(now)
            return
        for event in events:
            if event.type is EventType.DELETED:
                member = self.members.get(event.record.name)
                if member is not None:
                    member.record = None
            elif event.type is not EventType.BOOKMARK:
                self._see(event.record, now)

    def _see(self, record: Record, now: float) -> None:
        member = self.members.get(record.name)
        if member is None:
            self.members[record.name] = ShardMember(record.name, len(self.members), record, now)
        elif member.record is None or member.record.version < record.version:
            member.record, member.seen_at = record, now

    def _remove_dead(self, member: ShardMember, now: float) -> None:
        """Remove the object of a dead shard, unless it has changed after all."""
        record = member.record
        if record is None or self._remove_dead_at.get(member.name, now) > now:
            return
        self._remove_dead_at[member.name] = now + AGAIN_AFTER
        self._store.delete(SCHEDULER, [Deletion("", record.name, record.uid, record.version)])


class ShardHeartbeat:
    """Registers one shard, and tells that it lives."""

    def __init__(self, store: Store, name: str, clock: Clock, every: float = BEAT_EVERY) -> None:
        """A heart that has not beaten yet."""
        self._store = store
        self._name = name
        self._clock = clock
        self._every = every
        self._next = float("-inf")

    def next_due(self) -> float:
        """Clock time of the next beat."""
        return self._next

    def beat(self, now: float) -> None:
        """Tell that the shard lives, if it is time; the object is made where it is missing."""
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
