"""One cluster of a fleet, decoded as input of scheduling."""

import logging
from typing import Final, NamedTuple

from stretto.base.errors import InputError
from stretto.federation.controllers.supply.nodes import MemberNodeReader
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.clusters import ClusterNodes, DecodedCluster, decoded_cluster
from stretto.federation.objects.rules.digests import JoinedCluster, joined_cluster
from stretto.reconcile.cache import StoredObject

_LOG: Final = logging.getLogger(__name__)


class KnownCluster(NamedTuple):
    """One cluster, decoded."""

    #: The object.
    object: StoredObject
    #: Capacity of its nodes.
    nodes: ClusterNodes
    #: The cluster as input of scheduling.
    decoded: DecodedCluster
    #: Digests of the fields that policies read.
    digests: JoinedCluster


class ClusterReader:
    """Decodes clusters, with the capacity of their nodes."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the members of a fleet."""
        self._nodes = MemberNodeReader(fleet)
        self._unread: dict[str, str] = {}
        #: True if the division uses nodes.
        self.counts_nodes = self._nodes.counts

    def read(self, cluster: StoredObject, before: KnownCluster | None) -> KnownCluster | None:
        """A cluster, decoded; the same object until it changes.

        Args:
            cluster: the cluster.
            before: its last state, which is used if the cluster cannot be read; the log gives the
                reason.
        """
        name = cluster.record.name
        try:
            nodes = self._nodes.supply(name)
            if before is not None and before.object is cluster and before.nodes is nodes:
                return before
            made = decoded_cluster(cluster, nodes)
            return KnownCluster(cluster, nodes, made, joined_cluster(cluster))
        except InputError as error:
            if self._unread.get(name) != str(error):
                self._unread[name] = str(error)
                _LOG.warning("the last state of cluster %s is used: %s", name, error)
            return before
