"""Chooses the clusters of each federated object and divides its replicas."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final, NamedTuple

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY, PROPAGATION_POLICY
from stretto.api.types.federation import PropagationPolicy, PropagationPolicySpec
from stretto.base.clock import Clock
from stretto.federation import names, writes
from stretto.federation.controllers.keys import (
    FEDERATED,
    FederatedItem,
    everything,
    find_for_turn,
    key_of,
    labelled,
)
from stretto.federation.fleet import HOST, Fleet, is_joined
from stretto.federation.objects import migration, pending, placements, steering, triggers, workload
from stretto.federation.objects.paths import pointer
from stretto.federation.scheduling.fleet import Fleet as ClusterFleet
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, PlacementVerdict, schedule
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import RetryError

_TRUE: Final = "true"
_POLICY_LABELS: Final = {
    PROPAGATION_POLICY.kind.kind: names.POLICY,
    CLUSTER_PROPAGATION_POLICY.kind.kind: names.CLUSTER_POLICY,
}
"""Kinds of policies and the labels that name them; the first one found counts."""
_OWN_NOTES: Final = (names.TRIGGERS, names.DEFERRED, names.PENDING)
"""Annotations whose change gives no other controller work."""


class AppliedPolicy(NamedTuple):
    """The policy of an object."""

    #: Its name; empty without one.
    name: str = ""
    #: Its content; ``None`` without one.
    spec: PropagationPolicySpec | None = None


class ScheduleController:
    """From federated objects and policies to placements."""

    name = "schedule"

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        """For the federated objects of a fleet.

        Args:
            fleet: the fleet.
            clock: wall time, by which migrations end.
        """
        self._fleet = fleet
        self._clock = clock
        self._policies = {
            names.POLICY: fleet.host.follow(PROPAGATION_POLICY.kind),
            names.CLUSTER_POLICY: fleet.host.follow(CLUSTER_PROPAGATION_POLICY.kind),
        }

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The federated object, those of a policy, or all after a change of a cluster."""
        kind = change.kind.kind
        if change.source != HOST:
            return
        if kind in FEDERATED:
            yield from key_of(self._fleet, change.object)
        elif label := _POLICY_LABELS.get(kind):
            yield from labelled(self._fleet, label, change.object.record.name)
        elif kind == "FederatedCluster":
            yield from (item.key for item in everything(self._fleet))

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Schedule one object if something changed that calls for it."""
        item = find_for_turn(self._fleet, key, names.SCHEDULER)
        if item is not None:
            changed = self._decided(item, self._policy_of(item.federated))
            if changed is not None:
                writes.update(self._fleet.host.store, item.federated, changed)
        return None

    # ---------------------------------------------------------------- inside

    def _policy_of(self, federated: StoredObject) -> AppliedPolicy:
        """The policy that the labels of an object name.

        Raises:
            RetryError: it does not exist; the object keeps its placement.
        """
        for label, cache in self._policies.items():
            namespace = federated.record.namespace if label == names.POLICY else ""
            name = federated.labels.get(label)
            if name is None or (label == names.POLICY and not namespace):
                continue
            found = cache.get(namespace, name)
            if found is None:
                hint = f"create it or change the label {label}"
                raise RetryError(f"policy {name} does not exist: {hint}")
            return AppliedPolicy(name, found.read(PropagationPolicy).spec)
        return AppliedPolicy()

    def _joined(self) -> Iterator[StoredObject]:
        return filter(is_joined, self._fleet.clusters)

    def _decided(self, item: FederatedItem, policy: AppliedPolicy) -> Fields | None:
        """The federated object after a decision; ``None`` if nothing changes."""
        federated = item.federated
        notes = dict(federated.annotations)
        template = federated.spec["template"]
        found = triggers.TriggerInput(
            notes,
            workload.replicas_of(template, item.type),
            workload.request_of(template),
            *policy,
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
            if verdict.schedules:
                spec = self._scheduled(item, policy, notes)
        return _with_turn_done(item, spec, notes)

    def _scheduled(
        self, item: FederatedItem, policy: AppliedPolicy, notes: dict[str, str]
    ) -> Fields:
        """The spec after scheduling; ``notes`` receives what other controllers need."""
        federated = item.federated
        if policy.spec is None:
            notes[names.ENABLE_FOLLOWING] = "false"
            return self._without_policy(federated)
        rules = steering.steered(steering.of_policy(policy.spec), notes)
        now = self._clock.now()
        clusters = tuple(workload.member_cluster(each, item.type) for each in self._joined())
        subject = workload.federated_workload(federated, item.type, rules, now)
        result = schedule(subject, ClusterFleet(clusters))
        moves = policy.spec.auto_migration
        following = not policy.spec.disable_follower_scheduling
        _note(notes, names.ENABLE_FOLLOWING, str(following).lower())
        _note(notes, names.UNSCHEDULABLE_FOR, moves.when.pod_unschedulable_for if moves else None)
        _note(notes, names.APPLIED_MIGRATION, migration.report(rules, notes, now))
        return self._written(item, result)

    def _without_policy(self, federated: StoredObject) -> Fields:
        """The spec of an object without a policy: nothing, or what it had."""
        if self._fleet.settings.keeps_last_placement:
            return federated.spec
        spec = placements.with_placement(federated.spec, names.SCHEDULER, None)
        return placements.with_overrides(spec, names.SCHEDULER, {})

    def _written(self, item: FederatedItem, result: FederatedPlacement) -> Fields:
        """The spec with the result of a decision.

        Raises:
            RetryError: the policy is invalid; the object keeps its placement.
        """
        spec = item.federated.spec
        if result.verdict is PlacementVerdict.INVALID_LIMIT:
            raise RetryError("maxClusters is below 0: set it to 0 or more")
        has_placement = bool(placements.placed_by(spec, names.SCHEDULER))
        if not result.replicas and has_placement and self._fleet.settings.keeps_last_placement:
            return spec
        path = pointer(item.type.paths.replicas_spec)
        patches = {
            name: [{"op": "replace", "path": path, "value": count}]
            for name, count in result.replicas.items()
            if count is not None
        }
        spec = placements.with_placement(spec, names.SCHEDULER, result.replicas)
        return placements.with_overrides(spec, names.SCHEDULER, patches)


def _note(notes: dict[str, str], key: str, value: str | None) -> None:
    """Set an annotation, or remove it."""
    if value is None:
        notes.pop(key, None)
    else:
        notes[key] = value


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
