"""One decision about an object: from its policy and the clusters to placements and overrides."""

from collections.abc import Iterable

from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.policies import AppliedPolicy
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.objects import decided, placements
from stretto.federation.objects.rules import migration, steering
from stretto.federation.objects.workload import Circumstances, placed
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement, PlacementVerdict
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.reconciler import RetryError


class PlacementDecision:
    """Decides where objects go."""

    def __init__(self, supply: FleetSupply, *, keeps_last: bool) -> None:
        """Decide.

        Args:
            supply: what clusters offer, and what is promised.
            keeps_last: whether an object without a feasible cluster keeps its placement.
        """
        self._keeps_last = keeps_last
        self._supply = supply

    def decide(
        self,
        item: FederatedItem,
        policy: AppliedPolicy,
        circumstances: tuple[Iterable[StoredObject], float],
        notes: dict[str, str],
    ) -> Fields:
        """The spec after scheduling.

        Args:
            item: the federated object.
            policy: its policy.
            circumstances: the clusters that have joined, and seconds since the epoch, by which
                migrations end.
            notes: its annotations; they receive what other controllers need.

        Raises:
            RetryError: the policy is invalid; the object keeps its placement.
        """
        federated = item.federated
        if policy.spec is None:
            notes[names.ENABLE_FOLLOWING] = "false"
            return self._without_policy(federated)
        rules = steering.steered(steering.of_policy(policy.spec), notes)
        clusters, now = circumstances
        found = Circumstances(tuple(clusters), now, policy.profile)
        found = self._supply.offered(item.key, found)
        result = placed(federated, item.type, rules, found)
        moves = policy.spec.auto_migration
        following = not policy.spec.disable_follower_scheduling
        _note(notes, names.ENABLE_FOLLOWING, str(following).lower())
        _note(notes, names.UNSCHEDULABLE_FOR, moves.when.pod_unschedulable_for if moves else None)
        _note(notes, names.APPLIED_MIGRATION, migration.report(rules, notes))
        _note(notes, names.WAITING, decided.waiting(result))
        if found.divide is not None and result.replicas:
            self._supply.promises.planned(item, {n: c for n, c in result.replicas.items() if c})
        return self._written(item, result)

    def _without_policy(self, federated: StoredObject) -> Fields:
        """The spec of an object without a policy: nothing, or what it had."""
        if self._keeps_last:
            return federated.spec
        return decided.without_result(federated.spec)

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
        return decided.with_result(spec, item.type, result)


def _note(notes: dict[str, str], key: str, value: str | None) -> None:
    """Set an annotation, or remove it."""
    if value is None:
        notes.pop(key, None)
    else:
        notes[key] = value
