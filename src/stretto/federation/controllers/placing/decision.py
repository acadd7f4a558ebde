"""One decision about an object: placements and overrides from its policy and the clusters."""

from typing import Final, NamedTuple

from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.placing.profiles import ProfileFinder
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.objects.decision import decided, results
from stretto.federation.objects.decision.closed import closed_replicas, for_closed
from stretto.federation.objects.rules.steering import Steering
from stretto.federation.objects.workload import federated_workload
from stretto.federation.problems import SCHEDULED, ObjectCondition
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement
from stretto.federation.webhooks.unit import WebhookSubject, scheduling_unit
from stretto.reconcile.cache import Fields, StoredObject

_NO_POLICY: Final = ObjectCondition(
    SCHEDULED,
    "PolicyRemoved",
    "no policy applies to the object any more; the last placement is kept:"
    " name a policy in a label, or delete the object",
)


class ScheduledSpec(NamedTuple):
    """Fields that a decision changes."""

    #: The spec of the federated object.
    spec: Fields
    #: The condition of the decision: placed in full, in part or not at all.
    condition: ObjectCondition = ObjectCondition(SCHEDULED)
    #: Annotation with the replicas that no cluster has capacity for; ``None`` without such
    #: replicas.
    waiting: str | None = None
    #: Clusters whose reports reschedule these replicas; ``None`` for all.
    clusters: tuple[str, ...] | None = None


class PlacementResult(NamedTuple):
    """Decision about an object."""

    #: The chosen clusters, with reasons.
    placement: FederatedPlacement
    #: The condition of the decision: placed in full, in part or not at all.
    condition: ObjectCondition
    #: Replicas that are placed as soon as certain clusters are ready again.
    closed: int = 0


class PlacementDecision:
    """Computes placements of objects."""

    def __init__(self, profiles: ProfileFinder, supply: FleetSupply, *, keeps_last: bool) -> None:
        """Initialize with plugins and capacity.

        Args:
            profiles: the plugins of profiles.
            supply: capacity of clusters, and promised amounts.
            keeps_last: true if an object without a feasible cluster keeps its placement.
        """
        self._profiles = profiles
        self._supply = supply
        self._keeps_last = keeps_last

    def decide(self, item: FederatedItem, rules: Steering) -> ScheduledSpec:
        """The spec after scheduling.

        Args:
            item: the federated object.
            rules: its policy with its annotations.

        Raises:
            ObjectProblemError: a profile is missing or a webhook fails; the placement is unchanged.
            InputError, UnknownNameError: the profile is invalid; the placement is unchanged.
        """
        result, condition, closed = self.result(item, rules, explains=False)
        stays = self._stays(item, result)
        if self._supply.promises_count:
            # Without replicas, the promise of a decision that was not written ends.
            replicas = None if stays else {n: c for n, c in result.replicas.items() if c}
            self._supply.promises.planned(item, replicas)
        if stays:
            return ScheduledSpec(item.federated.spec, condition, decided.kept(closed))
        spec = decided.with_result(item.federated.spec, item.type, result)
        anywhere = rules.max_clusters is not None or result.held is not None
        chosen = None if anywhere else result.selected
        return ScheduledSpec(spec, condition, decided.waiting(result, closed), chosen)

    def result(
        self, item: FederatedItem, rules: Steering, *, explains: bool = True
    ) -> PlacementResult:
        """The decision without its effects; ``explains`` adds the scores of all clusters.

        Raises:
            ObjectProblemError: a profile is missing or a webhook fails.
            InputError, UnknownNameError: the profile is invalid.
        """
        found = self._supply.circumstances(item.key)
        workload = federated_workload(item.federated, item.type, rules, found)

        if self._supply.promises_count:
            free = self._supply.members.table.free
            workload = self._supply.queues.judged(item, workload, free)

        def subject() -> WebhookSubject:
            unit = scheduling_unit(item.federated, item.type, rules, workload)
            return WebhookSubject(unit, self._supply.members.objects())

        profile = self._profiles.profile(rules.profile, subject)
        result = self._supply.placed(item.key, item.type, workload, profile, explains=explains)
        table = self._supply.members.table
        closed = closed_replicas(workload, result, table)
        condition = results.condition_of(workload, result, for_closed(workload, result, table))
        return PlacementResult(result, condition, closed)

    def without_policy(self, federated: StoredObject) -> ScheduledSpec:
        """The spec of an object without a policy: no placement, or its last placement."""
        if not self._keeps_last:
            return ScheduledSpec(decided.without_result(federated.spec))
        is_placed = decided.is_placed(federated.spec)
        condition = _NO_POLICY if is_placed else ObjectCondition(SCHEDULED)
        return ScheduledSpec(federated.spec, condition)

    def _stays(self, item: FederatedItem, result: FederatedPlacement) -> bool:
        """True if an object without a feasible cluster keeps its last placement."""
        is_placed = decided.is_placed(item.federated.spec)
        return not result.replicas and is_placed and self._keeps_last
