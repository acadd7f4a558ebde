"""Writes federated objects to member clusters, repairs drift, and cleans up."""

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.federation import names
from stretto.federation.controllers.keys import (
    FEDERATED,
    FederatedItem,
    FederatedKey,
    find,
    key_of,
    key_of_member,
    sweep,
)
from stretto.federation.controllers.propagation.writer import MemberWriter
from stretto.federation.controllers.rollouts.course import FleetRollouts, RolloutCourse
from stretto.federation.fleet import HOST, ClusterFleet, is_joined, is_ready
from stretto.federation.objects import pending, placements
from stretto.federation.objects.members.advice import held, propagated
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import Later, RetryError

ANSWERED_WITHIN: Final = 1.0
"""Seconds for which a status report waits for the replies of members."""


class SyncController:
    """Writes federated objects to members."""

    name = "sync"

    def __init__(
        self,
        fleet: ClusterFleet,
        rollouts: FleetRollouts,
        writer: MemberWriter,
        warn: Callable[[StoredObject, str, str], None],
    ) -> None:
        """Initialize for the federated objects of a fleet.

        Args:
            fleet: the fleet.
            rollouts: plans the rollouts of Deployments.
            writer: writes to members.
            warn: writes an event about a held object, with its reason and message.
        """
        self._warn = warn
        self._fleet = fleet
        self._rollouts = rollouts
        self._writer = writer

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the federated object, also for a member's object, or of all for a cluster."""
        if change.source != HOST:
            yield from self._of_member(change)
        elif change.kind.kind in FEDERATED:
            yield from key_of(self._fleet, change.object)
        elif change.kind.kind == "FederatedCluster" and _matters(change):
            yield sweep(self._fleet)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Propagate one object to all its members."""
        item = find(self._fleet, key)
        if item is None:
            assert isinstance(key, FederatedKey)
            self._writer.discard(key)
            return None
        type_, federated = item
        if federated.is_terminating:
            return self._end(item, now)
        is_held = pending.pending(federated.annotations) and not placements.is_host_only(federated)
        if is_held or self._is_dry_run(federated):
            return None
        if (
            marked := writes.with_finalizer(federated.fields, names.SYNC_FINALIZER, True)
        ) is not None:
            writes.update(self._fleet.host.store, federated, marked)
            return None
        course = self._rollouts.course(type_, federated)
        if course.problem:
            before = federated.status
            synced = before.get("syncedGeneration")
            condition = held(course.problem)
            if self._write_state(federated, before.get("clusters") or [], condition, synced):
                self._warn(federated, condition["reason"], condition["message"])
            raise RetryError(course.problem)
        if course.note is not None:
            note = {"metadata": {"annotations": {names.ROLLOUT_STATUS: course.note}}}
            writes.patch(self._fleet.host.store, federated, note)
        states = self._spread(item, course, now)
        sent = self._writer.unanswered_since(item, list(states))
        if sent is not None and now - sent < ANSWERED_WITHIN:
            return ANSWERED_WITHIN
        self._report(federated, states, self._writer.problems(federated))
        if all(state is Status.OK for state in states.values()):
            self._writer.save_versions(item, states)
            return self._fleet.settings.drift_delay if course.is_open else None
        return self._fleet.settings.deletion_retry

    # ---------------------------------------------------------------- keys

    def _of_member(self, change: Change) -> Iterable[Hashable]:
        """Key of a member's object, after a delay that merges further changes."""
        for key in key_of_member(self._fleet, change):
            yield Later(key, self._fleet.settings.drift_delay)

    # ---------------------------------------------------------------- work

    def _is_dry_run(self, federated: StoredObject) -> bool:
        """True if a dry-run annotation blocks the first propagation."""
        if federated.annotations.get(names.DRY_RUN) != "true":
            return False
        return not (federated.metadata.get("finalizers") or ())

    def _spread(self, item: FederatedItem, course: RolloutCourse, now: float) -> dict[str, Status]:
        """Write to each cluster of the placement, remove elsewhere; return the state of each."""
        federated = item.federated
        placed = placements.placement(federated.spec)
        wanted = set() if placements.is_host_only(federated) else placed | course.leaving
        states: dict[str, Status] = {}
        for cluster in self._fleet.clusters:
            name = cluster.record.name
            if name in wanted:
                states[name] = self._writer.ensure(item, cluster, course.objects.get(name), now)
            elif (left := self._writer.remove(item, cluster, now)) is not None:
                states[name] = left
        return states

    def _report(
        self, federated: StoredObject, states: dict[str, Status], problems: dict[str, str]
    ) -> None:
        """Write the state of each cluster to the federated object, with remedies for problems."""
        clusters = [{"cluster": name, "status": str(state)} for name, state in states.items()]
        generation = federated.metadata.get("generation", 1)
        self._write_state(federated, clusters, propagated(states, problems), generation)

    def _write_state(
        self,
        federated: StoredObject,
        clusters: list[Fields],
        condition: Fields,
        generation: int | None,
    ) -> bool:
        """Write clusters, condition and synced generation; true if they change."""
        before = federated.status
        status: Fields = {"clusters": clusters, "syncedGeneration": generation}
        present = before.get("conditions") or ()
        others = [each for each in present if each.get("type") != condition["type"]]
        old: Fields = next((e for e in present if e.get("type") == condition["type"]), {})
        shown = {key: old[key] for key in ("type", "status", "reason", "message") if key in old}
        kept = [
            {key: each[key] for key in ("cluster", "status")}
            for each in before.get("clusters") or ()
        ]
        if (shown, kept, before.get("syncedGeneration")) == (condition, clusters, generation):
            return False
        status["conditions"] = [condition, *others]
        writes.patch_status(self._fleet.host.store, federated, status)
        return True

    def _end(self, item: FederatedItem, now: float) -> float | None:
        """Remove the object from all members, then release the federated object."""
        federated = item.federated
        states = {
            cluster.record.name: state
            for cluster in self._fleet.clusters
            if (state := self._writer.remove(item, cluster, now)) is not None
        }
        if states:
            return self._fleet.settings.deletion_retry
        freed = writes.with_finalizer(federated.fields, names.SYNC_FINALIZER, present=False)
        self._writer.forget(item)
        if freed is not None:
            writes.update(self._fleet.host.store, federated, freed)
        return None


def _matters(change: Change) -> bool:
    """True if a cluster was added, is leaving, was removed or has become ready.

    A cluster that is no longer ready changes no object, because its own condition reports it.
    """
    if change.old is None or change.new is None:
        return True
    old, new = change.old, change.new
    if old.is_terminating != new.is_terminating:
        return True
    return (is_joined(new), is_ready(new)) == (True, True) != (is_joined(old), is_ready(old))
