"""Objects of a fleet by name, and present decisions about them."""

from collections.abc import Mapping
from dataclasses import dataclass

from stretto.base.clock import Clock
from stretto.base.errors import InputError, NotFoundError, StrettoError
from stretto.federation.controllers.keys import FederatedItem, everything
from stretto.federation.controllers.placing.decision import PlacementDecision
from stretto.federation.controllers.placing.policies import PolicyFinder
from stretto.federation.controllers.placing.profiles import ProfileFinder
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.rules import steering
from stretto.federation.problems import ObjectProblemError
from stretto.federation.scheduling.kubeadmiral import FederatedPlacement
from stretto.stores.webhooks import NO_WEBHOOKS, WebhookClient


class UndecidedError(StrettoError):
    """Error for an object about which no decision is possible until a user changes something."""


@dataclass(frozen=True)
class FleetDecision:
    """Decision of the scheduler about an object."""

    #: The object.
    item: FederatedItem
    #: Its effective rules; ``None`` without a policy.
    rules: steering.Steering | None
    #: The result; ``None`` without a policy.
    result: FederatedPlacement | None


class FleetReader:
    """Reads a fleet whose caches are filled."""

    def __init__(
        self, fleet: ClusterFleet, clock: Clock, webhooks: WebhookClient = NO_WEBHOOKS
    ) -> None:
        """Initialize for a fleet.

        Args:
            fleet: the fleet.
            clock: gives the wall time at which migrations end.
            webhooks: client for the webhooks of profiles.
        """
        #: The fleet.
        self.fleet = fleet
        #: Problems of webhooks that failed; their plugins are left out.
        self.left_out: dict[str, None] = {}
        self._policies = PolicyFinder(fleet)
        self._supply = FleetSupply(fleet, clock)
        profiles = ProfileFinder(fleet, webhooks, self.left_out.setdefault)
        self._decision = PlacementDecision(profiles, self._supply, keeps_last=True)

    def items(self) -> list[FederatedItem]:
        """All objects, by namespace and name."""
        return sorted(everything(self.fleet), key=lambda each: (title(each), each.type.name))

    def find(self, name: str) -> FederatedItem:
        """The object of a name: ``NAME``, ``NAMESPACE/NAME`` or ``KIND/NAMESPACE/NAME``.

        Raises:
            NotFoundError: no object has the name.
            InputError: objects of several kinds have the name.
        """
        found = [each for each in self.items() if _is_named(each, name)]
        if not found:
            known = ", ".join(sorted({title(each) for each in self.items()})[:5]) or "none"
            hint = f"objects of the federation: {known}"
            raise NotFoundError(name, "no federated object has this name", hint)
        if len(found) > 1:
            names = ", ".join(f"{kind_of(each).lower()}/{title(each)}" for each in found[:5])
            raise InputError("NAME", name, "one object", f"add the kind: {names}")
        return found[0]

    def decision(
        self, item: FederatedItem, without: Mapping[str, float] | None = None
    ) -> FleetDecision:
        """Decision of the scheduler about an object in the present state.

        Args:
            item: the object.
            without: clusters that the object leaves, with the end in seconds since the epoch.

        Raises:
            UndecidedError: its policy or profile does not exist or is invalid.
            InputError: its policy or its requests are malformed.
        """
        try:
            policy = self._policies.policy_of(item.federated)
            if policy.rules is None:
                return FleetDecision(item, None, None)
            rules = steering.leaving(policy.rules, without) if without else policy.rules
            result = self._decision.result(item, rules)
        except ObjectProblemError as error:
            raise UndecidedError(f"{title(item)}: {error}") from error
        return FleetDecision(item, rules, result.placement)

    def promised(self) -> Mapping[str, Mapping[str, int]]:
        """Amounts that decisions have promised, by cluster and resource."""
        return self._supply.promises.sums


def title(item: FederatedItem) -> str:
    """``namespace/name`` of the source of an object."""
    namespace = item.federated.record.namespace
    name = str(item.federated.spec["template"]["metadata"]["name"])
    return f"{namespace}/{name}" if namespace else name


def kind_of(item: FederatedItem) -> str:
    """The kind of the source of an object."""
    return item.type.kind.kind


def _is_named(item: FederatedItem, name: str) -> bool:
    full = title(item)
    kind, _, rest = name.partition("/")
    if kind.lower() in (kind_of(item).lower(), item.type.kind.plural):
        return rest in (full, full.rpartition("/")[2])
    return name in (full, full.rpartition("/")[2])
