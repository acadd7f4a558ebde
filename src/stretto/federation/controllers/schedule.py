"""Chooses the clusters of each federated object and divides its replicas."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from stretto.base.clock import Clock
from stretto.federation import names
from stretto.federation.controllers.decision import PlacementDecision
from stretto.federation.controllers.keys import (
    FEDERATED,
    FederatedItem,
    everything,
    find_for_turn,
    key_of,
    labelled,
)
from stretto.federation.controllers.policies import POLICY_LABELS, AppliedPolicy, PolicyFinder
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.fleet import HOST, ClusterFleet, is_joined
from stretto.federation.objects import pending
from stretto.federation.objects.demand import replicas_of, request_of
from stretto.federation.objects.rules import triggers
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject

_TRUE: Final = "true"
_OWN_NOTES: Final = (names.TRIGGERS, names.DEFERRED, names.PENDING)
"""Annotations whose change gives no other controller work."""


class ScheduleController:
    """From federated objects and policies to placements."""

    name = "schedule"

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """For the federated objects of a fleet.

        Args:
            fleet: the fleet.
            clock: wall time, by which migrations end.
        """
        self._fleet = fleet
        self._policies = PolicyFinder(fleet)
        self._supply = FleetSupply(fleet)
        self._decision = PlacementDecision(
            self._supply, keeps_last=fleet.settings.keeps_last_placement
        )
        self._clock = clock

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The federated object, those of a policy, or all after a change of a cluster."""
        kind = change.kind.kind
        if change.source != HOST:
            return
        if kind in FEDERATED:
            if change.new is None:
                for key in key_of(self._fleet, change.object):
                    self._supply.promises.forget(key)
            yield from key_of(self._fleet, change.object)
        elif label := POLICY_LABELS.get(kind):
            yield from labelled(self._fleet, label, change.object.record.name)
        elif kind == "FederatedCluster":
            self._supply.promises.reported(change)
            yield from (item.key for item in everything(self._fleet))

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Schedule one object if something changed that calls for it."""
        item = find_for_turn(self._fleet, key, names.SCHEDULER)
        if item is not None:
            changed = self._decided(item, self._policies.policy_of(item.federated))
            if changed is not None:
                writes.update(self._fleet.host.store, item.federated, changed)
        return None

    # ---------------------------------------------------------------- inside

    def _joined(self) -> Iterator[StoredObject]:
        return filter(is_joined, self._fleet.clusters)

    def _decided(self, item: FederatedItem, policy: AppliedPolicy) -> Fields | None:
        """The federated object after a decision; ``None`` if nothing changes."""
        federated = item.federated
        notes = dict(federated.annotations)
        template = federated.spec["template"]
        found = triggers.TriggerInput(
            notes,
            replicas_of(template, item.type),
            request_of(template),
            policy.name,
            policy.spec,
            clusters=self._joined(),
        )
        record = triggers.record(found)
        verdict = triggers.compare(triggers.read(notes), record, policy.spec)
        spec = federated.spec
        notes.pop(names.DEFERRED, None)
        if notes.get(names.NO_SCHEDULING) == _TRUE:
            notes[names.TRIGGERS] = triggers.written(record)
        elif verdict.deferred:
            notes[names.DEFERRED] = verdict.deferred
        else:
            notes[names.TRIGGERS] = triggers.written(record)
            if verdict.schedules or names.WAITING in notes:
                circumstances = self._joined(), self._clock.now()
                spec = self._decision.decide(item, policy, circumstances, notes)
        return _with_turn_done(item, spec, notes)


def _with_turn_done(item: FederatedItem, spec: Fields, notes: dict[str, str]) -> Fields | None:
    """The object with the scheduler's turn done; ``None`` if nothing changes."""
    federated = item.federated
    before = dict(federated.annotations)
    rest = {key: value for key, value in notes.items() if key not in _OWN_NOTES}
    old = {key: value for key, value in before.items() if key not in _OWN_NOTES}
    changed = spec != federated.spec or rest != old
    notes[names.PENDING] = pending.after(names.SCHEDULER, before, item.type.pipeline, changed)
    if spec == federated.spec and notes == before:
        return None
    metadata = {**federated.metadata, "annotations": notes}
    return {**federated.fields, "metadata": metadata, "spec": spec}
