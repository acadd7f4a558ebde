"""Reports unusable policies as events, because objects may not name their policy."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final, NamedTuple

from stretto.api.kinds.federation import (
    CLUSTER_OVERRIDE_POLICY,
    CLUSTER_PROPAGATION_POLICY,
    OVERRIDE_POLICY,
    PROPAGATION_POLICY,
)
from stretto.api.types.federation.policies import OverridePolicy, PropagationPolicy
from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.federation.controllers.reports import COMPONENT
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects.rules.checks import contradictions
from stretto.reconcile.cache import Change, StoredObject
from stretto.reconcile.events import EventLevel, EventText
from stretto.reconcile.recorder import EventRecorder

_PROPAGATION: Final = (PROPAGATION_POLICY.kind, CLUSTER_PROPAGATION_POLICY.kind)
_OVERRIDES: Final = (OVERRIDE_POLICY.kind, CLUSTER_OVERRIDE_POLICY.kind)


class PolicyKey(NamedTuple):
    """Key of a policy."""

    #: Its kind.
    kind: str
    #: Its namespace.
    namespace: str
    #: Its name.
    name: str


class PolicyController:
    """Writes events about policies."""

    name = "policies"

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """Initialize for the policies of a fleet; ``clock`` gives the times of events."""
        self._fleet = fleet
        self._caches = {each.kind: fleet.host.follow(each) for each in (*_PROPAGATION, *_OVERRIDES)}
        self._events = EventRecorder(fleet.host.store, clock, COMPONENT)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the policy if its content has changed."""
        old, new, kind = change.old, change.new, change.kind.kind
        if change.source != HOST or kind not in self._caches or new is None:
            return
        if old is None or old.spec != new.spec:
            yield PolicyKey(kind, *new.name)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Write an event about the problems of one policy."""
        assert isinstance(key, PolicyKey)
        policy = self._caches[key.kind].get(key.namespace, key.name)
        if policy is not None and (text := "; ".join(self._problems(policy))):
            self._events.record(policy, EventText(EventLevel.WARNING, "InvalidPolicy", text))
        return None

    def _problems(self, policy: StoredObject) -> Iterator[str]:
        """Reasons why a policy cannot be used, each with a remedy."""
        try:
            if policy.record.kind in _OVERRIDES:
                policy.read(OverridePolicy)
                return
            spec = policy.read(PropagationPolicy).spec
        except InputError as error:
            yield str(error)
            return
        yield from contradictions(spec, orders_bounds=self._fleet.settings.plans_by_default)
        kinds = {each.kind.kind for each in self._fleet.types}
        for at, each in enumerate(spec.resource_selectors):
            if each.kind and each.kind not in kinds:
                hint = "correct it, or add a FederatedTypeConfig"
                yield f"resourceSelectors[{at}].kind is {each.kind}, which is not federated: {hint}"
