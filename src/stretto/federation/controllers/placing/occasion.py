"""Decides if an object is scheduled now; annotations record the reason."""

from typing import NamedTuple

from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.placing.applied import AppliedPolicy
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
    if notes.get(names.NO_SCHEDULING) == "true":
        notes[names.TRIGGERS] = triggers.written(record)
        return SchedulingOccasion(schedules=False, notes=notes)
    # A policy may keep a placement; replicas without a cluster are scheduled nevertheless.
    waits = names.WAITING in notes and not verdict.deferred.startswith("disableRescheduling")
    if verdict.deferred and not waits:
        notes[names.DEFERRED] = verdict.deferred
        notes[names.TRIGGERS] = triggers.written(triggers.after_deferral(old, record))
        return SchedulingOccasion(schedules=False, notes=notes)
    notes[names.TRIGGERS] = triggers.written(record)
    return SchedulingOccasion(verdict.schedules or waits, notes)
