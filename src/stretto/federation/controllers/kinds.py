"""Reports FederatedTypeConfigs that cannot be used or that have settings without an effect."""

from collections.abc import Hashable, Iterable

from stretto.api.kinds.federation import FEDERATED_TYPE_CONFIG
from stretto.base.clock import Clock, timestamp
from stretto.base.errors import InputError
from stretto.federation.controllers.reports import COMPONENT
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects.conditions import with_conditions
from stretto.federation.objects.rules.types import oddities
from stretto.federation.problems import ACCEPTED, ObjectCondition
from stretto.federation.types import read_type
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoredObject
from stretto.reconcile.recorder import EventRecorder

_KIND = FEDERATED_TYPE_CONFIG.kind


class TypeController:
    """Writes the conditions of FederatedTypeConfigs."""

    name = "types"

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """Initialize for the configured kinds of a fleet; ``clock`` dates conditions."""
        self._fleet = fleet
        self._clock = clock
        self._configs = fleet.host.follow(_KIND)
        self._events = EventRecorder(fleet.host.store, clock, COMPONENT)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Keys of all configurations, because two may configure one kind."""
        if change.source == HOST and change.kind.kind == _KIND.kind:
            yield from sorted(each.record.name for each in self._configs)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Report about one configuration."""
        config = self._configs.get("", str(key))
        if config is None:
            return None
        found, present = self._condition(config), config.status.get("conditions") or ()
        after = with_conditions(present, [found], timestamp(self._clock.now()))
        if after is not None:
            writes.patch_status(self._fleet.host.store, config, {"conditions": after})
            if found.reason:
                self._events.warn(config, found.reason, found.message)
        return None

    def _condition(self, config: StoredObject) -> ObjectCondition:
        """The condition of a configuration, with its problem if there is one."""
        try:
            type_ = read_type(config)
        except InputError as error:
            text = f"{error}; the kind is not federated: correct the configuration"
            return ObjectCondition(ACCEPTED, "InvalidConfiguration", text)
        used = self._fleet.types.of(type_.kind.group, type_.kind.kind)
        if used is not None and used.name != type_.name:
            text = f"{used.name} configures the kind {type_.kind.kind}, and it applies"
            return ObjectCondition(ACCEPTED, "KindConfiguredTwice", f"{text}: delete one of them")
        idle = "; ".join(oddities(type_))
        return ObjectCondition(ACCEPTED, "WithoutEffect" if idle else "", idle)
