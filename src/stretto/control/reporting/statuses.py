"""Statuses of Queues and PodGroups: what became of them, told in the store.

A lane beside the decisions: once a second it compares what is to be said with what it said last,
and writes a bounded batch of patches, those first that say how a group has ended. Nothing waits for
it: where the store can send without waiting, the answers are taken by a later look. What it does
not get to is told later; a write that fails is tried again with the next batch.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from stretto.api.types.godel import PodGroup, PodGroupPhase
from stretto.api.types.workload_groups import MARK
from stretto.api.wire.kinds import POD, POD_GROUP, QUEUE, WORKLOAD_POD_GROUP, Kind
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import UnreachableError
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.dispatcher.membership import group_unit
from stretto.control.dispatcher.usage_report import QueueFacts
from stretto.control.dispatcher.waiting.phases import PHASE_OF, GroupFacts, moves, state_of
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import GroupState
from stretto.state.work.units import Unit, Units
from stretto.stores.store import (
    BeginPatches,
    Patch,
    Record,
    Replies,
    StatusReason,
    Store,
    WriteOutcome,
)

EVERY: Final = 1.0
"""Seconds between two batches: statuses are for people and slow controllers."""
AT_ONCE: Final = 256
"""Patches of one batch."""
LONGEST_PAUSE: Final = 60.0
"""Seconds before what was refused again and again is told once more; the first pause is a second.

A namespace may have gone before its groups, or a webhook may want nothing to be said of them.
"""
LOCK: Final = "podgroup-final-op-lock"
"""Annotation (after Gödel's prefix) by which its binder says that it is about to finish a group."""
_PASSING: Final = frozenset({PodGroupPhase.PENDING.value, PodGroupPhase.PRE_SCHEDULING.value})
_FOR_GOOD: Final = frozenset({StatusReason.NOT_FOUND, StatusReason.INVALID, StatusReason.FORBIDDEN})
"""Refusals that speak of what is written, and not of the moment."""
_RAN: Final = (b'"Running"', b'"Succeeded"', b'"Failed"')


Look = Callable[[Kind, str, str], Record | None]
"""An object as it is now; may say that the server does not answer."""
Batch = list[tuple[Patch, dict[str, Any]]]
"""Patches, and what each says."""


class _PatchBatch(NamedTuple):
    """Patches whose answers have not come yet."""

    #: Kind of the objects.
    kind: Kind
    #: What was sent.
    batch: Batch
    #: The answers.
    answers: Future[Replies]


class StatusWriter:
    """Writes what became of Queues and PodGroups."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        dispatcher: Dispatcher,
        store: Store,
        unanswered_rows: Callable[[], AbstractSet[int]] = frozenset,
    ) -> None:
        """Start with no status written.

        ``unanswered_rows`` gives the rows of claims whose binds have no answer yet; the statuses of
        their groups wait.
        """
        #: What was written or could not be, by kind and outcome.
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self._units = units
        self._dispatcher = dispatcher
        self._store = store
        self._unanswered_rows = unanswered_rows
        #: What was said last of each object, by uid.
        self._told: dict[str, dict[str, Any]] = {}
        #: Of those that were refused: clock time before which nothing is told, and the pause.
        self._refused: dict[str, tuple[float, float]] = {}
        self._begin: BeginPatches | None = getattr(store, "begin_patch_status", None)
        self._look: Look = getattr(store, "get_at_once", store.get)
        self._way: list[_PatchBatch] = []
        #: ``minMember`` with which each group was scheduled, by uid.
        self._settled: dict[str, int] = {}
        self._next = float("-inf")
        self._more = False

    def next_due(self) -> float:
        """Clock time of the next batch; infinity while nobody is known to wait for it."""
        return self._next if self._more and not self._way else float("inf")

    def report(self, now: float, clock: Clock, *, at_once: bool = False) -> int:
        """Write the next batch if its time has come; returns how many objects were told of."""
        self._more = bool(self._cluster.queues or self._cluster.groups)
        if (
            not self._heard(now, wait=at_once)
            or not self._more
            or (now < self._next and not at_once)
        ):
            return 0
        self._next = now + EVERY
        stamp = timestamp(clock.now())
        self._forget()
        news = [*self._queues(stamp), *sorted(self._groups(now, stamp), key=_goes_on)]
        wanted = [each for each in news if self._may_write(each[1].uid, now)][:AT_ONCE]
        for kind in dict.fromkeys(kind for kind, _, _ in wanted):
            batch = [(patch, said) for each, patch, said in wanted if each is kind]
            patches = [patch for patch, _ in batch]
            if self._begin is not None and not at_once:
                self._way.append(_PatchBatch(kind, batch, self._begin(kind, patches)))
            else:
                self._take(kind, batch, self._store.patch_status(kind, patches), now)
        self._more = bool(news)
        return len(wanted)

    def _heard(self, now: float, *, wait: bool) -> bool:
        """Take the answers to the last batch; whether all have come."""
        if not wait and not all(sent.answers.done() for sent in self._way):
            return False
        way, self._way = self._way, []
        for sent in way:
            self._take(sent.kind, sent.batch, sent.answers.result(), now)
        return True

    def _take(self, kind: Kind, batch: Batch, replies: Replies, now: float) -> None:
        """Note what was told, and what was not."""
        for (patch, said), reply in zip(batch, replies, strict=True):
            self.counts[f"{kind.kind} {reply.outcome.value}"] += 1
            if reply.outcome is WriteOutcome.OK:
                self._told[patch.uid] = said
                self._refused.pop(patch.uid, None)
            elif reply.code in _FOR_GOOD:
                _, pause = self._refused.get(patch.uid, (now, EVERY / 2))
                pause = min(2 * pause, LONGEST_PAUSE)
                self._refused[patch.uid] = now + pause, pause

    def _may_write(self, uid: str, now: float) -> bool:
        """Whether nothing that was refused lately keeps an object from being told of."""
        return uid not in self._refused or now >= self._refused[uid][0]

    def _forget(self) -> None:
        """Nothing is kept of objects that have gone, once these are the most."""
        cluster, kept = self._cluster, len(self._told) + len(self._refused)
        if kept <= 2 * (len(cluster.queues) + len(cluster.groups)) + AT_ONCE:
            return
        there = {queue.metadata.uid for queue in cluster.queues.values()}
        there.update(group.metadata.uid for group in cluster.groups.values())
        self._told = {uid: said for uid, said in self._told.items() if uid in there}
        self._refused = {uid: until for uid, until in self._refused.items() if uid in there}
        self._settled = {uid: least for uid, least in self._settled.items() if uid in there}

    # ------------------------------------------------------------ queues

    def _queues(self, stamp: str) -> Iterator[tuple[Kind, Patch, dict[str, Any]]]:
        """Queues of which there is something new to say."""
        if not self._cluster.queues:
            return
        for facts in self._dispatcher.views.queues():
            queue = self._cluster.queues.get(facts.name)
            if queue is None:
                continue
            said = _queue_status(facts)
            if self._told.get(queue.metadata.uid) != said:
                sound = {"type": "Sound", "status": "False" if facts.faults else "True"}
                sound |= {"reason": "NotAsWritten" if facts.faults else "AsWritten"}
                sound |= {"message": "; ".join(facts.faults), "lastTransitionTime": stamp}
                patch = {"status": {**said, "conditions": [sound]}}
                yield QUEUE, Patch("", facts.name, patch, uid=queue.metadata.uid), said

    # ------------------------------------------------------------ groups

    def _groups(self, now: float, stamp: str) -> Iterator[tuple[Kind, Patch, dict[str, Any]]]:
        """PodGroups of which there is something new to say."""
        still_open = self._unanswered_rows()
        for key, group in self._cluster.groups.items():
            unit = self._units.by_identity.get(group_unit(key))
            if unit is not None and not still_open.isdisjoint(unit.bound):
                continue
            facts = self._facts(key, group, unit, now)
            namespace, _, name = key.partition("/")
            if name.endswith(MARK):
                yield from self._workload(group, facts, stamp)
                continue
            state = state_of(group.status.phase)
            path = list(moves(state, facts))
            state = path[-1] if path else state
            said = self._group_status(group, unit, facts, state)
            remarks = list(self._owner_warnings(key, group, state))
            news = {**said, "remarks": remarks}
            uid = group.metadata.uid
            if self._told.get(uid) == news:
                continue
            if not path and not remarks and said == _written_status(group):
                self._told[uid] = news
                continue
            conditions = list(msgspec.to_builtins(group.status.conditions))
            conditions += [_condition(PHASE_OF[each].value, "Moved", "", stamp) for each in path]
            for reason, message in remarks:
                conditions = [each for each in conditions if each.get("reason") != reason]
                conditions.append(_condition(PHASE_OF[state].value, reason, message, stamp))
            status = {**said, "conditions": conditions}
            if GroupState.PRE_SCHEDULING in path and not group.status.schedule_start_time:
                status["scheduleStartTime"] = stamp
            patch = Patch(namespace, name, {"status": status}, uid=uid)
            if state is GroupState.TIMEOUT:  # not if a binder has locked the group meanwhile
                patch = replace(patch, version=int(group.metadata.resource_version))
            yield POD_GROUP, patch, news

    def _facts(self, key: str, group: PodGroup, unit: Unit | None, now: float) -> GroupFacts:
        least, notes = group.spec.min_member, group.metadata.annotations
        late = now >= self._dispatcher.views.group_deadline(key)
        locked = notes.get(f"godel.bytedance.com/{LOCK}") == "binder"
        if unit is None:
            return GroupFacts(least, 0, 0, late=late, locked=locked)
        ran = unit.scheduled or (0 < len(unit.bound) < least and self._runs(unit))
        return GroupFacts(least, unit.size, len(unit.bound), ran, late, locked)

    def _runs(self, unit: Unit) -> bool:
        """Whether a pod of a unit is known to run or to have ended; asked for few units."""
        pods = self._cluster.pods
        for row in unit.bound:
            try:
                record = self._look(POD, pods.namespace[row], pods.name[row])
            except UnreachableError:
                return False  # what is said now reaches nobody either
            if record is not None and any(word in record.body for word in _RAN):
                return True
        return False

    def _group_status(
        self, group: PodGroup, unit: Unit | None, facts: GroupFacts, state: GroupState
    ) -> dict[str, Any]:
        """What is said of a group, conditions and times apart."""
        uid = group.metadata.uid
        if state is GroupState.SCHEDULED:
            self._settled.setdefault(uid, facts.min_member)
        said: dict[str, Any] = {"phase": PHASE_OF[state].value}
        said["pending"] = len(unit.pending) if unit is not None else 0
        said["running"] = facts.bound
        return said

    def _owner_warnings(
        self, key: str, group: PodGroup, state: GroupState
    ) -> Iterator[tuple[str, str]]:
        """(reason, message) of what its owner should know."""
        fault = self._dispatcher.views.group_fault(key)
        if fault:
            yield "Contradiction", fault
        settled = self._settled.get(group.metadata.uid)
        least = group.spec.min_member
        if state is GroupState.SCHEDULED and settled is not None and settled != least:
            said = f"spec.minMember: {settled} when the group was scheduled, {least} now; "
            said += "what runs stays, and pods that are still to come are admitted one by one. "
            yield "MinMemberChanged", said + "It counts again once the group is evicted"

    def _workload(
        self, group: PodGroup, facts: GroupFacts, stamp: str
    ) -> Iterator[tuple[Kind, Patch, dict[str, Any]]]:
        """One of Kubernetes' own groups: one condition says whether it is scheduled."""
        meta = group.metadata
        done = facts.ran or facts.bound >= facts.min_member
        said = {"scheduled": done, "bound": facts.bound, "created": facts.created}
        if self._told.get(meta.uid) != said:
            message = f"{facts.bound} of {facts.min_member} pods that must run together have nodes"
            scheduled = {
                "type": "PodGroupScheduled",
                "status": "True" if done else "False",
                "reason": "Scheduled" if done else "Unschedulable",
                "message": message,
                "lastTransitionTime": stamp,
            }
            patch = {"status": {"conditions": [scheduled]}}
            found = Patch(meta.namespace, meta.name, patch, uid=meta.uid)
            yield WORKLOAD_POD_GROUP, found, said


def _goes_on(news: tuple[Kind, Patch, dict[str, Any]]) -> bool:
    """Whether a group may soon have something else to say: it is told of later, perhaps once."""
    return news[2].get("phase") in _PASSING


def _written_status(group: PodGroup) -> dict[str, Any]:
    """What a group's status says already."""
    status = group.status
    return {"phase": status.phase, "pending": status.pending, "running": status.running}


def _condition(phase: str, reason: str, message: str, stamp: str) -> dict[str, str]:
    said = {"phase": phase, "status": "True", "lastTransitionTime": stamp, "reason": reason}
    return {**said, "message": message} if message else said


def _queue_status(facts: QueueFacts) -> dict[str, Any]:
    """What is said of a queue, its condition apart."""
    texts: Mapping[str, Any] = {
        "state": facts.state,
        "used": facts.used or None,
        "borrowed": facts.borrowed or None,
        "counted": facts.counted or None,
        "shareMilli": round(facts.share * 1000),
        "pending": facts.pending,
        "running": facts.running,
    }
    return {**texts, "conditions": list(facts.faults)}
