"""One turn of the scheduler over a federated object."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from stretto.federation.controllers.keys import (
    FederatedItem,
    scheduler_waits,
    waiting,
)
from stretto.federation.controllers.placing.decision import PlacementDecision
from stretto.federation.controllers.placing.notes import note_decision
from stretto.federation.controllers.placing.occasion import occasion
from stretto.federation.controllers.placing.policies import PolicyFinder
from stretto.federation.controllers.placing.profiles import PROFILE_KINDS, ProfileFinder
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.fleet import ClusterFleet
from stretto.federation.problems import ObjectCondition
from stretto.reconcile.cache import Change, Fields
from stretto.stores.webhooks import WebhookClient


class SchedulerTurn(NamedTuple):
    """Changes that a turn makes to an object."""

    #: Annotations of the object.
    notes: dict[str, str]
    #: Spec of the object.
    spec: Fields
    #: Conditions to set.
    conditions: tuple[ObjectCondition, ...]


class TurnTaker:
    """Schedules one object per call."""

    def __init__(self, fleet: ClusterFleet, supply: FleetSupply, webhooks: WebhookClient) -> None:
        """Initialize for the federated objects of a fleet.

        Args:
            fleet: the fleet.
            supply: capacity of the clusters, and promised amounts.
            webhooks: client for the webhooks of profiles.
        """
        #: Capacity of the clusters, and promised amounts.
        self.supply = supply
        self._fleet = fleet
        self._policies = PolicyFinder(fleet)
        self._profiles = ProfileFinder(fleet, webhooks)
        self._decision = PlacementDecision(
            self._profiles, self.supply, keeps_last=fleet.settings.keeps_last_placement
        )

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of the objects that a change of a policy, a profile or a webhook concerns.

        A profile and a webhook concern the objects that have not been scheduled yet.
        """
        if self.supply.queues.concerns(change):
            return waiting(self._fleet)
        if change.kind.kind in PROFILE_KINDS:
            return scheduler_waits(self._fleet)
        return self._policies.affected(change)

    def turn(self, item: FederatedItem) -> SchedulerTurn:
        """Schedule an object if its input changed; return the changes of the object.

        Raises:
            ObjectProblemError: a policy, a profile or a webhook cannot be used.
            StrettoError: a policy or a profile is malformed.
        """
        policy = self._policies.policy_of(item.federated)
        schedules, notes = occasion(item, policy, self.supply.members.digests)
        if policy.rules is not None and policy.rules.profile:
            odd = self._profiles.oddities(policy.rules.profile)
            policy = policy._replace(oddities=(*policy.oddities, *odd))
        conditions = (policy.acceptance,)
        if not schedules:
            return SchedulerTurn(notes, item.federated.spec, conditions)
        if policy.rules is None:
            made = self._decision.without_policy(item.federated)
        else:
            made = self._decision.decide(item, policy.rules)
        note_decision(notes, policy, made)
        self.supply.waiting.note(item.key, made.clusters, waits=made.waiting is not None)
        return SchedulerTurn(notes, made.spec, (*conditions, made.condition))
