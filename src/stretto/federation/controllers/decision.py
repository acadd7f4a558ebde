"""One decision about an object: from its policy and the clusters to placements and overrides."""

from collections.abc import Callable, Iterable

from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.policies import AppliedPolicy
from stretto.federation.objects import placements
from stretto.federation.objects.paths import pointer
from stretto.federation.objects.rules import migration, steering
from stretto.federation.objects.workload import Circumstances, placed
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, PlacementVerdict
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.reconciler import RetryError


class PlacementDecision:
    """Decides where objects go."""

    def __init__(self, *, keeps_last: bool, wall_time: Callable[[], float]) -> None:
        """Decide.

        Args:
            keeps_last: whether an object without a feasible cluster keeps its placement.
            wall_time: seconds since the epoch, by which migrations end.
        """
        self._keeps_last = keeps_last
        self._wall_time = wall_time

    def decide(
        self,
        item: FederatedItem,
        policy: AppliedPolicy,
        clusters: Iterable[StoredObject],
        notes: dict[str, str],
    ) -> Fields:
        """The spec after scheduling.

        Args:
            item: the federated object.
            policy: its policy.
            clusters: the clusters that have joined.
            notes: its annotations; they receive what other controllers need.

        Raises:
            RetryError: the policy is invalid; the object keeps its placement.
        """
        federated = item.federated
        if policy.spec is None:
            notes[names.ENABLE_FOLLOWING] = "false"
            return self._without_policy(federated)
        rules = steering.steered(steering.of_policy(policy.spec), notes)
        now = self._wall_time()
        result = placed(federated, item.type, rules, Circumstances(clusters, now, policy.profile))
        moves = policy.spec.auto_migration
        following = not policy.spec.disable_follower_scheduling
        _note(notes, names.ENABLE_FOLLOWING, str(following).lower())
        _note(notes, names.UNSCHEDULABLE_FOR, moves.when.pod_unschedulable_for if moves else None)
        _note(notes, names.APPLIED_MIGRATION, migration.report(rules, notes))
        return self._written(item, result)

    def _without_policy(self, federated: StoredObject) -> Fields:
        """The spec of an object without a policy: nothing, or what it had."""
        if self._keeps_last:
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
        if not result.replicas and has_placement and self._keeps_last:
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
