"""Chooses the clusters of each federated object and divides its replicas."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY, PROPAGATION_POLICY
from stretto.api.types.federation import PropagationPolicy, PropagationPolicySpec
from stretto.base.clock import Clock, parse_timestamp
from stretto.federation import names, writes
from stretto.federation.controllers.sync import FEDERATED, FederatedKey
from stretto.federation.fleet import HOST, Fleet, is_joined
from stretto.federation.objects import pending, placements, steering, triggers
from stretto.federation.objects.paths import pointer
from stretto.federation.objects.workload import (
    federated_workload,
    member_cluster,
    replicas_of,
    request_of,
)
from stretto.federation.scheduling.fleet import Fleet as ClusterFleet
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, PlacementVerdict, schedule
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import RetryError

_TRUE: Final = "true"
_POLICIES: Final = (PROPAGATION_POLICY.kind.kind, CLUSTER_PROPAGATION_POLICY.kind.kind)


@dataclass(frozen=True, slots=True)
class _Policy:
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
        self._policies = fleet.host.follow(PROPAGATION_POLICY.kind)
        self._cluster_policies = fleet.host.follow(CLUSTER_PROPAGATION_POLICY.kind)

    # ---------------------------------------------------------------- keys

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The federated object, those of a policy, or all after a change of a cluster."""
        if change.source != HOST:
            return
        kind = change.kind.kind
        if kind in FEDERATED:
            if type_ := self._fleet.type_of(change.object):
                yield FederatedKey(type_.name, *change.object.name)
        elif kind in _POLICIES:
            label = names.POLICY if kind == _POLICIES[0] else names.CLUSTER_POLICY
            for type_, each in self._all():
                if each.labels.get(label) == change.object.record.name:
                    yield FederatedKey(type_.name, *each.name)
        elif kind == "FederatedCluster":
            for type_, each in self._all():
                yield FederatedKey(type_.name, *each.name)

    def _all(self) -> Iterable[tuple[FederatedType, StoredObject]]:
        for type_ in self._fleet.types:
            for each in self._fleet.host.follow_synced(type_.federated_kind):
                if self._fleet.type_of(each) is type_:
                    yield type_, each

    # ---------------------------------------------------------------- decision

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Schedule one object if something changed that calls for it."""
        assert isinstance(key, FederatedKey)
        type_ = self._fleet.types.named(key.type)
        if type_ is None or not any(names.SCHEDULER in group for group in type_.pipeline):
            return None
        federated = self._fleet.federated(type_.federated_kind, key.namespace, key.name)
        if federated is None or federated.is_terminating:
            return None
        if not pending.has_turn(names.SCHEDULER, federated.annotations):
            return None
        policy = self._policy_of(federated)
        changed = self._decided(federated, type_, policy)
        if changed is not None:
            writes.update(self._fleet.host.store, federated, changed)
        return None

    def _policy_of(self, federated: StoredObject) -> _Policy:
        """The policy that the labels of an object name.

        Raises:
            RetryError: it does not exist; the object keeps its placement.
        """
        label, cache, namespace = names.POLICY, self._policies, federated.record.namespace
        name = federated.labels.get(label) if namespace else None
        if name is None:
            label, cache, namespace = names.CLUSTER_POLICY, self._cluster_policies, ""
            name = federated.labels.get(label)
        if name is None:
            return _Policy()
        found = cache.get(namespace, name)
        if found is None:
            raise RetryError(f"policy {name} does not exist: create it or change the label {label}")
        return _Policy(name, found.read(PropagationPolicy).spec)

    def _decided(
        self, federated: StoredObject, type_: FederatedType, policy: _Policy
    ) -> Fields | None:
        """The federated object after a decision; ``None`` if nothing changes."""
        template, notes = federated.spec["template"], dict(federated.annotations)
        found = triggers.TriggerInput(
            notes,
            replicas_of(template, type_),
            request_of(template),
            policy.name,
            policy.spec,
            [each for each in self._fleet.clusters if is_joined(each)],
        )
        record = triggers.record(found)
        verdict = triggers.compare(triggers.read(notes), record, policy.spec)
        spec = federated.spec
        if notes.get(names.NO_SCHEDULING) == _TRUE:
            verdict = triggers.TriggerVerdict(schedules=False)
        if verdict.schedules:
            spec = self._scheduled(federated, type_, policy, notes)
            notes.pop(names.DEFERRED, None)
        elif verdict.deferred:
            notes[names.DEFERRED] = verdict.deferred
        else:
            notes.pop(names.DEFERRED, None)
        if not verdict.deferred:
            notes[names.TRIGGERS] = triggers.written(record)
        return _with_turn_done(federated, type_, spec, notes)

    def _scheduled(
        self, federated: StoredObject, type_: FederatedType, policy: _Policy, notes: dict[str, str]
    ) -> Fields:
        """The spec after scheduling; ``notes`` receives what other controllers need."""
        if policy.spec is None:
            return self._without_policy(federated, notes)
        rules = steering.steered(steering.of_policy(policy.spec), federated.annotations)
        workload = federated_workload(federated, type_, rules, self._clock.now())
        clusters = [each for each in self._fleet.clusters if is_joined(each)]
        fleet = ClusterFleet(tuple(member_cluster(each, type_) for each in clusters))
        result = schedule(workload, fleet)
        notes[names.ENABLE_FOLLOWING] = str(not policy.spec.disable_follower_scheduling).lower()
        migration = policy.spec.auto_migration
        if migration is not None:
            notes[names.UNSCHEDULABLE_FOR] = migration.when.pod_unschedulable_for
        else:
            notes.pop(names.UNSCHEDULABLE_FOR, None)
        self._note_migration(rules, notes)
        return self._written(federated, type_, result)

    def _note_migration(self, rules: steering.Steering, notes: dict[str, str]) -> None:
        """Report the migration that the decision applied."""
        import json

        applied: Fields = {}
        if rules.limited:
            applied["limitedCapacity"] = dict(sorted(rules.limited.items()))
        now = self._clock.now()
        left = sorted(name for name, end in rules.left_until.items() if end > now)
        if left:
            ends = self._ends(notes)
            applied["unavailableClusters"] = [
                {"cluster": name, "validUntil": ends.get(name, "")} for name in left
            ]
        if applied:
            notes[names.APPLIED_MIGRATION] = json.dumps(applied, separators=(",", ":"))
        else:
            notes.pop(names.APPLIED_MIGRATION, None)

    def _ends(self, notes: dict[str, str]) -> dict[str, str]:
        import json

        found = json.loads(notes.get(names.MIGRATION) or "{}")
        return {
            each["cluster"]: each["validUntil"] for each in found.get("workloadMigrations") or ()
        }

    def _without_policy(self, federated: StoredObject, notes: dict[str, str]) -> Fields:
        """The spec of an object without a policy: nothing, or what it had."""
        notes[names.ENABLE_FOLLOWING] = "false"
        if self._fleet.settings.keeps_last_placement:
            return federated.spec
        spec = placements.with_placement(federated.spec, names.SCHEDULER, None)
        return placements.with_overrides(spec, names.SCHEDULER, {})

    def _written(
        self, federated: StoredObject, type_: FederatedType, result: FederatedPlacement
    ) -> Fields:
        """The spec with the result of a decision.

        Raises:
            RetryError: the policy is invalid; the object keeps its placement.
        """
        if result.verdict is PlacementVerdict.INVALID_LIMIT:
            raise RetryError("maxClusters is below 0: set it to 0 or more")
        keeps = self._fleet.settings.keeps_last_placement
        if not result.replicas and keeps and placements.placed_by(federated.spec, names.SCHEDULER):
            return federated.spec
        spec = placements.with_placement(federated.spec, names.SCHEDULER, result.replicas)
        path = pointer(type_.paths.replicas_spec)
        patches = {
            name: [{"op": "replace", "path": path, "value": count}]
            for name, count in result.replicas.items()
            if count is not None
        }
        return placements.with_overrides(spec, names.SCHEDULER, patches)


def _with_turn_done(
    federated: StoredObject, type_: FederatedType, spec: Fields, notes: dict[str, str]
) -> Fields | None:
    """The object with the scheduler's turn done; ``None`` if nothing changes."""
    before = federated.annotations
    steps = (names.TRIGGERS, names.DEFERRED, names.PENDING)
    rest = {key: value for key, value in notes.items() if key not in steps}
    old = {key: value for key, value in before.items() if key not in steps}
    changed = spec != federated.spec or rest != old
    notes[names.PENDING] = pending.after(names.SCHEDULER, before, type_.pipeline, changed)
    if spec == federated.spec and notes == dict(before):
        return None
    metadata = {**federated.metadata, "annotations": notes}
    return {**federated.fields, "metadata": metadata, "spec": spec}
