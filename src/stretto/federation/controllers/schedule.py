"""Chooses the clusters of each federated object and divides its replicas."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from stretto.base.errors import StrettoError
from stretto.federation import names
from stretto.federation.controllers.keys import (
    FEDERATED,
    FederatedItem,
    find_for_turn,
    is_status_only,
    key_of,
    waiting,
)
from stretto.federation.controllers.placing.turn import SchedulerTurn, TurnTaker
from stretto.federation.controllers.reports import ObjectReporter
from stretto.federation.controllers.supply.agreement import CapacityAgreement
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending
from stretto.federation.problems import ObjectProblemError
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields
from stretto.stores.webhooks import WebhookClient

HELD_FOR: Final = 1.0
"""Seconds between two attempts to schedule while another shard has not reported."""
_OWN_NOTES: Final = (names.TRIGGERS, names.DEFERRED, names.PENDING)
"""Annotations whose change concerns no other controller."""


class ScheduleController:
    """Writes placements to federated objects, as their policies define them."""

    name = "schedule"

    def __init__(
        self,
        fleet: ClusterFleet,
        agreement: CapacityAgreement,
        webhooks: WebhookClient,
        reporter: ObjectReporter,
    ) -> None:
        """Initialize for the federated objects of a fleet.

        Args:
            fleet: the fleet.
            agreement: capacity of the clusters, on which the shards agree.
            webhooks: client for the webhooks of profiles.
            reporter: writes conditions.
        """
        self._fleet = fleet
        self._agreement = agreement
        self._turns = TurnTaker(fleet, agreement.supply, webhooks)
        self._conditions = reporter
        self._written: dict[str, int] = {}

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the federated object, those of a policy or profile, or all of a cluster."""
        if change.source != HOST:
            return
        if change.kind.kind in FEDERATED:
            if not (self._is_own(change) or is_status_only(change)):
                for key in key_of(self._fleet, change.object):
                    if change.new is None:
                        self._agreement.forget(key)
                    yield key
        elif change.kind.kind == "FederatedCluster":
            self._turns.supply.promises.reported(change)
            yield from self._heard()
            yield from self._turns.supply.waiting.affected(change)
        elif change.kind.kind == "Lease":
            yield from self._heard()
        else:
            yield from self._turns.affected(change)

    def _heard(self) -> Iterable[Hashable]:
        """Keys of the waiting objects if other shards promise less than before."""
        return waiting(self._fleet) if self._agreement.hear() else ()

    def _is_own(self, change: Change) -> bool:
        """True if a change is the last write of this controller."""
        if change.new is None:
            self._written.pop(change.object.record.uid, None)
            return False
        return self._written.get(change.new.record.uid) == change.new.record.version

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Schedule one object if its input changed."""
        item = find_for_turn(self._fleet, key, names.SCHEDULER)
        if item is None:
            return None
        if self._agreement.holds:
            return HELD_FOR
        try:
            turn = self._turns.turn(item)
        except (ObjectProblemError, StrettoError) as error:
            self._conditions.write_problem(item.federated, error)
            raise
        if not self._agreement.agrees(item.key, now):
            return self._agreement.pause
        changed = _with_turn_done(item, turn)
        if changed is not None:
            made = writes.update(self._fleet.host.store, item.federated, changed)
            self._written[item.federated.record.uid] = made.version if made is not None else -1
        self._conditions.write(item.federated, turn.conditions)
        return None


def _with_turn_done(item: FederatedItem, turn: SchedulerTurn) -> Fields | None:
    """The object after the scheduler's turn; ``None`` if nothing changes."""
    federated, (notes, spec, _) = item.federated, turn
    before = dict(federated.annotations)
    moved = spec != federated.spec
    changed = moved or _for_others(notes) != _for_others(before)
    done = pending.after(names.SCHEDULER, before, item.type.pipeline, changed)
    notes = {**notes, names.PENDING: done}
    if not moved and notes == before:
        return None
    metadata = {**federated.metadata, "annotations": notes}
    return {**federated.fields, "metadata": metadata, "spec": spec}


def _for_others(notes: Mapping[str, str]) -> Fields:
    """The annotations whose change concerns other controllers."""
    return {key: value for key, value in notes.items() if key not in _OWN_NOTES}
