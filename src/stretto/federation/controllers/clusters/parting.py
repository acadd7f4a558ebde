"""Removal of the managed objects of this process from members that leave."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from stretto.base.errors import StrettoError
from stretto.federation import names
from stretto.federation.controllers.clusters import leaving
from stretto.federation.controllers.clusters.links import MemberAccess
from stretto.federation.controllers.exchange.peers import ShardPeers
from stretto.federation.fleet import ClusterFleet, is_joined
from stretto.federation.objects.exchange import LeavingPart
from stretto.federation.shares import ControllerShare
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.reconciler import RetryError

_DELETION: Final = "delete"
"""Purpose of the calls to a member."""


def cascades(cluster: StoredObject) -> bool:
    """True if the managed objects of a cluster are deleted before it leaves."""
    return cluster.annotations.get(names.CASCADE) is not None and is_joined(cluster)


class ClusterParting:
    """Deletes managed objects of the shard of this process, and counts the remaining ones."""

    def __init__(
        self,
        fleet: ClusterFleet,
        access: MemberAccess,
        share: ControllerShare,
        in_flight: Callable[[str], float],
    ) -> None:
        """Initialize for the clusters of a fleet.

        Args:
            fleet: the fleet.
            access: the connections to members, and the calls over them.
            share: the share of this process; a cluster loses all managed objects if every shard
                deletes its own.
            in_flight: returns the number of unanswered writes to a member.
        """
        self._fleet = fleet
        self._access = access
        self._share = share
        self._in_flight = in_flight
        self._parts: dict[str, LeavingPart] = {}

    def is_due(self, cluster: StoredObject) -> bool:
        """True if a cluster is being deleted and the managed objects are to be removed first."""
        finalizers = cluster.metadata.get("finalizers") or ()
        return cluster.is_terminating and names.CASCADE in finalizers

    def parts(self) -> Mapping[str, LeavingPart]:
        """What is left in each cluster that leaves, by uid."""
        present = {each.record.uid for each in self._fleet.clusters}
        self._parts = {uid: part for uid, part in self._parts.items() if uid in present}
        return self._parts

    def clear(self, cluster: StoredObject) -> int | None:
        """Delete the managed objects if the cluster object requests cascading deletion.

        Returns:
            The number of objects and unanswered writes that are left; ``None`` while deletions are
            in flight.

        Raises:
            RetryError: the member refuses a deletion.
            UnreachableError: the member does not answer.
        """
        try:
            left = self._cleared(cluster)
        except (RetryError, StrettoError) as error:
            self._parts[cluster.record.uid] = LeavingPart(1, str(error))
            raise
        self._parts[cluster.record.uid] = LeavingPart(1 if left is None else left)
        return left

    def _cleared(self, cluster: StoredObject) -> int | None:
        if not cascades(cluster):
            return 0
        name = cluster.record.name
        self._access.links.open(cluster)
        member = self._fleet.member(name)
        if member is None:
            return 0
        found = [each for each in leaving.managed(self._fleet, member) if self._is_own(each)]
        left = self._access.answer(cluster, _DELETION, lambda: leaving.delete(member.store, found))
        return None if left is None else left + int(self._in_flight(name))

    def _is_own(self, item: StoredObject) -> bool:
        return self._share.holds(*item.name)


class ShardDuties(NamedTuple):
    """The part of a process in the life of members."""

    #: The clusters that this process joins and removes.
    share: ControllerShare
    #: Removes the objects of this shard from clusters that leave.
    parting: ClusterParting
    #: The other shards.
    peers: ShardPeers
