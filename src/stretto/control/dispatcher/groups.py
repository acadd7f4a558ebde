"""The PodGroups and their effect on units.

A unit whose group is unknown stays forming. A unit whose group is unreadable, inconsistent or timed
out has failed until the group changes.
"""

from math import inf

from stretto.control.dispatcher.membership import (
    GroupRecord,
    group_unit,
    read_group,
    unreadable_group,
)
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.state.rows.lifecycle import UnitEvent, UnitState
from stretto.state.work.changes import GroupChange
from stretto.state.work.units import NO_GROUP, Unit, UnitKind


class Groups:
    """All existing PodGroups, by ``PodGroupUnit/namespace/name``."""

    def __init__(self, moves: UnitMoves) -> None:
        """Start without groups."""
        self._moves = moves
        self._places = moves.states
        self._known: dict[str, GroupRecord] = {}

    def get(self, identity: str) -> GroupRecord | None:
        """Return a group by its unit's identity."""
        return self._known.get(identity)

    def join(self, unit: Unit) -> None:
        """Apply the group to a new unit."""
        group = self._known.get(unit.key)
        if group is not None:
            self._apply(unit, group)

    def leave(self, unit: Unit) -> None:
        """Forget an ended unit."""
        self._places.faults.pop(unit, None)

    def names_queue(self, unit: Unit) -> bool:
        """Return whether the group, not the pods, sets the unit's queue."""
        group = self._known.get(unit.key) if unit.kind is UnitKind.POD_GROUP else None
        return group is not None and bool(group.queue)

    def change(self, change: GroupChange, now: float) -> Unit | None:
        """Apply an added, changed or deleted group; returns its unit if it must be re-evaluated."""
        identity, group = group_unit(change.key), change.group
        unit = self._places.units.by_identity.get(identity)
        before = self._known.get(identity)
        if group is None and not change.fault:
            self._known.pop(identity, None)
            if unit is not None:
                self._remove_group(unit)
            return unit
        if group is None:
            after = unreadable_group(change.fault, now)
        else:
            after = read_group(group, now, self._places.config.schedule_timeout)
        renewed = before is None or before.uid != after.uid
        if before is not None and not renewed:
            after = after._replace(seen=before.seen)
        self._known[identity] = after
        if unit is None or after == before:
            return None
        if renewed:
            unit.scheduled = False
        self._apply(unit, after)
        if unit.state is UnitState.FAILED and self._is_retryable(before, after):
            self._moves.enter_queue(unit, UnitEvent.REVIVE)
        return unit

    def _remove_group(self, unit: Unit) -> None:
        """Process the deletion of a unit's group: its faults no longer apply."""
        unit.min_member, unit.deadline = NO_GROUP, inf
        if self._places.faults.pop(unit, None) and unit.state is UnitState.FAILED:
            self._moves.enter_queue(unit, UnitEvent.REVIVE)

    def _apply(self, unit: Unit, group: GroupRecord) -> None:
        places = self._places
        unit.min_member = group.min_member
        if group.duration < inf:
            unit.duration = group.duration
        unit.scheduled = unit.scheduled or group.ran
        deadline = -inf if group.late else group.seen + group.wait
        unit.start_by(deadline, has_default_deadline=not group.stated)
        if group.fault:
            places.faults[unit] = group.fault
        else:
            places.faults.pop(unit, None)
        if not group.fault and -inf < unit.deadline < inf:
            places.deadlines.add(unit, unit.deadline)
        if group.queue and group.queue != unit.queue:
            self._moves.change_queue(unit, group.queue)

    def _is_retryable(self, before: GroupRecord | None, after: GroupRecord) -> bool:
        """Return whether a failed unit is retried after its group changed."""
        if after.fault or after.late:
            return False
        definition = (after.uid, after.min_member, after.wait)
        return before is None or definition != (before.uid, before.min_member, before.wait)
