"""State that all controllers of a federation share: the host, the members and the kinds."""

from collections.abc import Iterable, Iterator
from typing import Final

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError, NotAllowedError, UnreachableError
from stretto.federation.objects import index
from stretto.federation.problems import ACCEPTED
from stretto.federation.settings import FederationSettings
from stretto.federation.types import FederatedType, FederatedTypes, read_type
from stretto.reconcile.cache import ObjectCache, StoreCache, StoredObject
from stretto.reconcile.conditions import condition_of
from stretto.stores.later_lists import NotListedError

HOST: Final = "host"
"""Name of the host's store in changes; members have the names of their clusters."""
_TYPES: Final = FEDERATED_TYPE_CONFIG.kind
_CLUSTERS: Final = FEDERATED_CLUSTER.kind


class ClusterFleet:
    """The host and its member clusters."""

    def __init__(self, host: StoreCache, settings: FederationSettings) -> None:
        """Create a fleet without members.

        Args:
            host: caches of the host.
            settings: behaviour of the controllers.
        """
        #: Caches of the host.
        self.host = host
        #: Behaviour of the controllers.
        self.settings = settings
        self._members: dict[str, StoreCache] = {}
        self._silent: set[str] = set()
        self._configs = host.follow(_TYPES)
        self._clusters = host.follow(_CLUSTERS)
        self._ordered: tuple[StoredObject, ...] = ()
        self._ordered_at = 0
        self._types = FederatedTypes()
        self._revision = 0

    # ---------------------------------------------------------------- kinds

    @property
    def types(self) -> FederatedTypes:
        """The configured kinds; the host and the members are watched for their objects."""
        if self._configs.revision != self._revision:
            self._revision = self._configs.revision
            self._types = FederatedTypes(_readable(self._configs))
            for type_ in self._types:
                self.host.follow(type_.kind)
                self.host.follow(type_.federated_kind).add_index(index.INDEX, index.keys_of)
                for member in self._members.values():
                    member.follow(type_.kind)
        return self._types

    @property
    def kind_problems(self) -> dict[str, str]:
        """Problems of FederatedTypeConfigs that do not apply in full, by name."""
        found = {}
        for config in self._configs:
            accepted = condition_of(config.status.get("conditions") or (), ACCEPTED) or {}
            if accepted.get("status") == "False":
                found[config.record.name] = str(accepted.get("message"))
        return dict(sorted(found.items()))

    def type_of(self, federated: StoredObject) -> FederatedType | None:
        """The kind of a federated object, by its template."""
        return self.types.of(*index.kind_of(federated))

    def federated_of(self, type_: FederatedType) -> Iterable[StoredObject]:
        """The federated objects of a kind, in no particular order."""
        cache = self.host.follow_synced(type_.federated_kind)
        return cache.indexed(index.INDEX, index.kind_key(type_.kind.group, type_.kind.kind))

    def indexed(self, key: str) -> Iterator[tuple[FederatedType, StoredObject]]:
        """The federated objects under a key of their index, with their kinds."""
        for kind in dict.fromkeys(type_.federated_kind for type_ in self.types):
            for each in self.host.follow_synced(kind).indexed(index.INDEX, key):
                type_ = self.type_of(each)
                if type_ is not None:
                    yield type_, each

    # ---------------------------------------------------------------- objects

    def sources(self, type_: FederatedType) -> ObjectCache:
        """The sources of a kind."""
        return self.host.follow_synced(type_.kind)

    def federated(self, kind: Kind, namespace: str, name: str) -> StoredObject | None:
        """A federated object."""
        return self.host.follow_synced(kind).get(namespace, name)

    # ---------------------------------------------------------------- clusters

    @property
    def clusters(self) -> tuple[StoredObject, ...]:
        """All FederatedClusters, by name; the same tuple until one changes."""
        if self._clusters.revision != self._ordered_at:
            self._ordered_at = self._clusters.revision
            self._ordered = tuple(sorted(self._clusters, key=lambda each: each.record.name))
        return self._ordered

    def cluster(self, name: str) -> StoredObject | None:
        """The FederatedCluster of that name."""
        return self._clusters.get("", name)

    def member(self, name: str) -> StoreCache | None:
        """The caches of a member; ``None`` if it is not connected."""
        return self._members.get(name)

    def listed(self, name: str, kind: Kind) -> ObjectCache | None:
        """The objects of a kind in a member; ``None`` if they are unknown.

        They are unknown if the member is not connected, has not been listed yet, or forbids reading
        the kind.
        """
        member = self._members.get(name)
        if member is None:
            return None
        try:
            return member.follow_synced(kind)
        except (NotListedError, NotAllowedError, UnreachableError):
            return None

    def connected(self) -> Iterator[tuple[str, StoreCache]]:
        """The connected members, by name."""
        for name in sorted(self._members):
            yield name, self._members[name]

    def connect(self, name: str, member: StoreCache) -> None:
        """Add a member and watch its objects."""
        self._members[name] = member
        for type_ in self.types:
            member.follow(type_.kind)

    def disconnect(self, name: str) -> None:
        """Remove a member."""
        self._members.pop(name, None)
        self._silent.discard(name)

    def note_answer(self, name: str, *, answers: bool) -> None:
        """Record if a member answered its last request; conditions change only later."""
        if answers:
            self._silent.discard(name)
        else:
            self._silent.add(name)

    def is_silent(self, name: str) -> bool:
        """True if a member did not answer its last request."""
        return name in self._silent

    def is_writable(self, cluster: StoredObject) -> bool:
        """True if objects can be written to a cluster now."""
        name = cluster.record.name
        reachable = name in self._members and name not in self._silent
        return reachable and is_joined(cluster) and is_ready(cluster)


def _readable(configs: Iterable[StoredObject]) -> Iterator[FederatedType]:
    """The kinds of the readable configurations, the oldest first.

    The conditions of the other configurations report their errors.
    """
    for config in sorted(configs, key=_age):
        try:
            yield read_type(config)
        except InputError:
            continue


def _age(config: StoredObject) -> tuple[str, str]:
    """Sort key of objects: by age, equally old ones by name."""
    return str(config.metadata.get("creationTimestamp") or ""), config.record.name


def condition(cluster: StoredObject, type_: str) -> str:
    """The status of a condition of a cluster; empty if it is absent."""
    found = condition_of(cluster.status.get("conditions") or (), type_) or {}
    return str(found.get("status", ""))


def is_joined(cluster: StoredObject) -> bool:
    """True if a cluster has joined."""
    return condition(cluster, "Joined") == "True"


def is_ready(cluster: StoredObject) -> bool:
    """True if a cluster answers and is healthy."""
    return condition(cluster, "Ready") == "True"


def unready_clusters(fleet: ClusterFleet) -> frozenset[str]:
    """Clusters that have joined and are not ready, so that their objects may be out of date."""
    joined = (each for each in fleet.clusters if is_joined(each))
    return frozenset(each.record.name for each in joined if not is_ready(each))
