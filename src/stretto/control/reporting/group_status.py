"""Statuses of PodGroups: Gödel's, Kubernetes' own, and Volcano's.

Volcano's controllers wait for the phases that the scheduler writes. The PodGroups of
scheduler-plugins have a controller that writes their statuses.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from stretto.api.types.godel import PodGroup, PodGroupPhase
from stretto.api.types.workload_groups import FORMS, MARK
from stretto.api.wire.kinds import POD, POD_GROUP, VOLCANO_POD_GROUP, WORKLOAD_POD_GROUP
from stretto.base.errors import UnreachableError
from stretto.control.dispatcher.dispatcher import Dispatcher
from stretto.control.dispatcher.membership import group_unit
from stretto.control.dispatcher.waiting.phases import PHASE_OF, GroupFacts, moves, state_of
from stretto.control.reporting.queue_status import StatusNews, WrittenStatuses
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.lifecycle import GroupState
from stretto.state.work.units import Unit, Units
from stretto.stores.store import Patch, Store

LOCK: Final = "podgroup-final-op-lock"
"""Annotation (after Gödel's prefix) with which Gödel's binder locks a group before finishing it."""
_PASSING: Final = frozenset({PodGroupPhase.PENDING.value, PodGroupPhase.PRE_SCHEDULING.value})
_VOLCANO: Final = FORMS[VOLCANO_POD_GROUP].mark
_STARTED: Final = frozenset({"Running", "Completed", "Unknown"})
"""Phases of Volcano in which the pods of a group were created."""
_RAN: Final = (b'"Running"', b'"Succeeded"', b'"Failed"')


class GroupStatuses:
    """Computes the statuses of PodGroups."""

    def __init__(
        self,
        cluster: Cluster,
        units: Units,
        dispatcher: Dispatcher,
        store: Store,
        written: WrittenStatuses,
    ) -> None:
        """Compare with the statuses in ``written``; statuses found in the store are added to it."""
        self._cluster = cluster
        self._units = units
        self._dispatcher = dispatcher
        self._store = store
        self._written = written
        #: ``minMember`` with which each group was scheduled, by uid.
        self._settled: dict[str, int] = {}

    def forget(self, existing: AbstractSet[str]) -> None:
        """Drop entries of groups whose uids no longer exist."""
        for uid in self._settled.keys() - existing:
            del self._settled[uid]

    def patches(self, now: float, stamp: str, unanswered: AbstractSet[int]) -> Iterator[StatusNews]:
        """PodGroups whose status has changed."""
        for key, group in self._cluster.groups.items():
            unit = self._units.by_identity.get(group_unit(key))
            if unit is not None and not unanswered.isdisjoint(unit.bound):
                continue
            facts = self._facts(key, group, unit, now)
            namespace, _, name = key.partition("/")
            if name.endswith(MARK):
                yield from self._workload(group, facts, stamp)
                continue
            if name.endswith(_VOLCANO):
                yield from self._volcano(group, unit, facts, stamp)
                continue
            if "@" in name:
                continue  # the controller of scheduler-plugins writes them
            state = state_of(group.status.phase)
            path = list(moves(state, facts))
            state = path[-1] if path else state
            content = self._group_status(group, unit, facts, state)
            remarks = list(self._owner_warnings(key, group, state))
            news = {**content, "remarks": remarks}
            uid = group.metadata.uid
            if self._written.get(uid) == news:
                continue
            if not path and not remarks and content == _written_status(group):
                self._written[uid] = news
                continue
            conditions = list(msgspec.to_builtins(group.status.conditions))
            conditions += [_condition(PHASE_OF[each].value, "Moved", "", stamp) for each in path]
            for reason, message in remarks:
                conditions = [each for each in conditions if each.get("reason") != reason]
                conditions.append(_condition(PHASE_OF[state].value, reason, message, stamp))
            status = {**content, "conditions": conditions}
            if GroupState.PRE_SCHEDULING in path and not group.status.schedule_start_time:
                status["scheduleStartTime"] = stamp
            patch = Patch(namespace, name, {"status": status}, uid=uid)
            if state is GroupState.TIMEOUT:  # not if a binder has locked the group in the meantime
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
        """Return whether a pod of a unit runs or has ended; called for few units."""
        pods = self._cluster.pods
        for row in unit.bound:
            try:
                record = self._store.get_at_once(POD, pods.namespace[row], pods.name[row])
            except UnreachableError:
                return False  # the write of the status would fail, too
            if record is not None and any(word in record.body for word in _RAN):
                return True
        return False

    def _group_status(
        self, group: PodGroup, unit: Unit | None, facts: GroupFacts, state: GroupState
    ) -> dict[str, Any]:
        """The status of a group without conditions and times."""
        uid = group.metadata.uid
        if state is GroupState.SCHEDULED:
            self._settled.setdefault(uid, facts.min_member)
        content: dict[str, Any] = {"phase": PHASE_OF[state].value}
        content["pending"] = len(unit.pending) if unit is not None else 0
        content["running"] = facts.bound
        return content

    def _owner_warnings(
        self, key: str, group: PodGroup, state: GroupState
    ) -> Iterator[tuple[str, str]]:
        """(reason, message) of warnings to the owner."""
        fault = self._dispatcher.views.group_fault(key)
        if fault:
            yield "Contradiction", fault
        settled = self._settled.get(group.metadata.uid)
        least = group.spec.min_member
        if state is GroupState.SCHEDULED and settled is not None and settled != least:
            content = f"spec.minMember: {settled} when the group was scheduled, {least} now; "
            content += "running pods stay, and further pods are admitted one by one. "
            yield "MinMemberChanged", content + "It counts again once the group is evicted"

    def _workload(self, group: PodGroup, facts: GroupFacts, stamp: str) -> Iterator[StatusNews]:
        """Status of a Kubernetes PodGroup: one condition reports whether it is scheduled."""
        meta = group.metadata
        done = facts.ran or facts.bound >= facts.min_member
        content = {"scheduled": done, "bound": facts.bound, "created": facts.created}
        if self._written.get(meta.uid) != content:
            scheduled = {
                "type": "PodGroupScheduled",
                "status": "True" if done else "False",
                "reason": "Scheduled" if done else "Unschedulable",
                "message": _progress(facts),
                "lastTransitionTime": stamp,
            }
            patch = {"status": {"conditions": [scheduled]}}
            found = Patch(meta.namespace, meta.name, patch, uid=meta.uid)
            yield WORKLOAD_POD_GROUP, found, content

    def _volcano(
        self, group: PodGroup, unit: Unit | None, facts: GroupFacts, stamp: str
    ) -> Iterator[StatusNews]:
        """Volcano PodGroup: ``Inqueue`` lets its controller create pods; ``Running`` follows."""
        meta = group.metadata
        if unit is None and group.status.phase in _STARTED:
            return  # its pods have ended
        done = facts.ran or facts.bound >= facts.min_member
        content = {"phase": "Running" if done else "Inqueue", "running": facts.bound}
        if self._written.get(meta.uid) == content:
            return
        condition = {
            "type": "Scheduled" if done else "Unschedulable",
            "status": "True",
            "reason": "Scheduled" if done else "NotEnoughPods",
            "message": _progress(facts),
            "lastTransitionTime": stamp,
        }
        patch = {"status": {**content, "conditions": [condition]}}
        yield VOLCANO_POD_GROUP, Patch(meta.namespace, meta.name, patch, uid=meta.uid), content


def _progress(facts: GroupFacts) -> str:
    return f"{facts.bound} of {facts.min_member} pods that must run together have nodes"


def is_passing(news: StatusNews) -> bool:
    """Return whether a group may change again soon: its status is written after the others."""
    return news[2].get("phase") in _PASSING


def _written_status(group: PodGroup) -> dict[str, Any]:
    """Status that a group already has."""
    status = group.status
    return {"phase": status.phase, "pending": status.pending, "running": status.running}


def _condition(phase: str, reason: str, message: str, stamp: str) -> dict[str, str]:
    content = {"phase": phase, "status": "True", "lastTransitionTime": stamp, "reason": reason}
    return {**content, "message": message} if message else content
