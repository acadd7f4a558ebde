"""Checks if the objects that a workload needs can follow it."""

from collections.abc import Mapping, Set

from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem, FederatedKey
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects import placements
from stretto.federation.objects.following import ObjectName, named_followers, needed_followers
from stretto.federation.problems import FOLLOWED, ObjectCondition


class FollowerCheck:
    """Finds missing followers, and objects that follow themselves."""

    def __init__(
        self, fleet: ClusterFleet, leaders: Mapping[FederatedKey, Set[FederatedKey]]
    ) -> None:
        """Initialize for the objects of a fleet with the leaders of each follower."""
        self._fleet = fleet
        self._leaders = leaders

    def condition(self, item: FederatedItem) -> ObjectCondition:
        """The condition that names missing followers, unconfigured kinds and cycles."""
        federated, listed = item.federated, named_followers(item.federated)
        kinds = {
            each.kind for each in listed if self._fleet.types.of(each.group, each.kind) is None
        }
        needed = sorted(needed_followers(federated) | listed)
        missing = [f"{each.kind} {each.name}" for each in needed if self._is_missing(item, each)]
        texts = []
        if kinds:
            text = f"{names.FOLLOWER_LIST} names the kind {', '.join(sorted(kinds))}"
            texts.append(f"{text}, which no FederatedTypeConfig configures: correct it, or add one")
        if missing:
            texts.append(
                f"missing on the host and in some cluster: {', '.join(missing)}:"
                " create them on the host, or remove the references"
            )
        if texts:
            return ObjectCondition(FOLLOWED, "FollowerMissing", "; ".join(texts))
        if self._is_cyclic(item.key):
            text = f"it follows itself, so it never leaves a cluster: correct {names.FOLLOWER_LIST}"
            return ObjectCondition(FOLLOWED, "FollowersCyclic", text)
        return ObjectCondition(FOLLOWED)

    def _is_missing(self, leader: FederatedItem, follower: ObjectName) -> bool:
        """True if a follower is absent from the host and from a readable cluster of its leader."""
        type_ = self._fleet.types.of(follower.group, follower.kind)
        if type_ is None:
            return False
        space = leader.federated.record.namespace
        source = self._fleet.sources(type_).get(space, follower.name)
        if source is not None and not source.is_terminating:
            return False
        placed = placements.placement(leader.federated.spec)
        caches = (self._fleet.listed(name, type_.kind) for name in sorted(placed))
        read = [each for each in caches if each is not None]
        return not read or any(each.get(space, follower.name) is None for each in read)

    def _is_cyclic(self, key: FederatedKey) -> bool:
        """True if an object is among its own leaders, directly or indirectly."""
        seen, ahead = set[FederatedKey](), [key]
        while ahead:
            found = set(self._leaders.get(ahead.pop(), ())) - seen
            seen |= found
            ahead += found
        return key in seen
