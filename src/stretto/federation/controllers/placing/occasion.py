"""Decides if an object is scheduled now; annotations record the reason."""

from typing import NamedTuple

from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.placing.applied import AppliedPolicy
from stretto.federation.objects import placements
from stretto.federation.objects.demand import replicas_of, request_of
from stretto.federation.objects.rules import triggers
from stretto.federation.objects.rules.digests import FleetDigests


class SchedulingOccasion(NamedTuple):
    """Result of the check of one object."""

    #: True if the object is scheduled now.
    schedules: bool
    #: Annotations of the object, with a record of the compared input.
    notes: dict[str, str]


def occasion(
    item: FederatedItem, policy: AppliedPolicy, clusters: FleetDigests
) -> SchedulingOccasion:
    """Compare the present input of a decision with the input of the last decision."""
    notes = dict(item.federated.annotations)
    template = item.federated.spec["template"]
    found = triggers.TriggerInput(
        notes,
        replicas_of(template, item.type),
        request_of(template),
        policy.name,
        policy.spec,
        policy.content,
        clusters,
    )
    old, record = triggers.read(notes), triggers.record(found)
    verdict = triggers.compare(old, record, found, notes.pop(names.DEFERRED, ""))
    # A policy may keep a placement; replicas without a cluster are scheduled nevertheless.
    waits = names.WAITING in notes and not verdict.deferred.startswith("disableRescheduling")
    is_deferred = bool(verdict.deferred) and not verdict.schedules and not waits
    if is_deferred or (verdict.schedules and verdict.deferred and _is_placed(item)):
        notes[names.DEFERRED] = verdict.deferred
    # The record stays, so that a deferred change is found again.
    notes[names.TRIGGERS] = triggers.written(old if is_deferred and old else record)
    schedules = (verdict.schedules or waits) and notes.get(names.NO_SCHEDULING) != "true"
    return SchedulingOccasion(schedules, notes)


def _is_placed(item: FederatedItem) -> bool:
    """True if the scheduler has chosen clusters for an object."""
    return bool(placements.placed_by(item.federated.spec, names.SCHEDULER))
