"""Whether an object is scheduled now, and the annotations that record why."""

from typing import NamedTuple

from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.placing.applied import AppliedPolicy
from stretto.federation.objects.demand import replicas_of, request_of
from stretto.federation.objects.rules import triggers
from stretto.federation.objects.rules.digests import FleetDigests


class SchedulingOccasion(NamedTuple):
    """One look at an object."""

    #: True if it is scheduled now.
    schedules: bool
    #: Its annotations, with the record of what was seen.
    notes: dict[str, str]


def occasion(
    item: FederatedItem, policy: AppliedPolicy, clusters: FleetDigests
) -> SchedulingOccasion:
    """Compare what a decision would read with what the last one has read."""
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
    # A policy may keep what is placed; replicas without a cluster are placed all the same.
    waits = names.WAITING in notes and not verdict.deferred.startswith("disableRescheduling")
    if verdict.deferred and not waits:
        notes[names.DEFERRED] = verdict.deferred
        notes[names.TRIGGERS] = triggers.written(triggers.after_deferral(old, record))
        return SchedulingOccasion(schedules=False, notes=notes)
    notes[names.TRIGGERS] = triggers.written(record)
    return SchedulingOccasion(verdict.schedules or waits, notes)
