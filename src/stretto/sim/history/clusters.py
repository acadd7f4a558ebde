"""A living cluster as a state to look at: what its API server holds now, listed kind by kind.

Nothing is written, and whoever schedules there goes on. The lists are made one after the other, so
the state is not of one instant: pods come first and nodes last, so that a node which came in
between is known when a pod names it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stretto.api.wire import kinds
from stretto.api.wire.kinds import EVENT, NODE, POD, Kind
from stretto.base.errors import NotAllowedError
from stretto.explain.story import Story, story_of_objects
from stretto.stores.store import ListOptions, Record, Store

LOOKED_AT: Final[tuple[Kind, ...]] = (
    POD,
    kinds.POD_GROUP,
    kinds.WORKLOAD_POD_GROUP,
    kinds.QUEUE,
    kinds.RESERVATION,
    kinds.MOVEMENT,
    kinds.PRIORITY_CLASS,
    kinds.NAMESPACE,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.SERVICE,
    kinds.REPLICATION_CONTROLLER,
    kinds.REPLICA_SET,
    kinds.STATEFUL_SET,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.PERSISTENT_VOLUME,
    kinds.STORAGE_CLASS,
    kinds.CSI_NODE,
    kinds.CSI_DRIVER,
    kinds.CSI_STORAGE_CAPACITY,
    kinds.VOLUME_ATTACHMENT,
    kinds.CUSTOM_NODE_RESOURCE,
    kinds.NM_NODE,
    NODE,
)
"""What decides where pods go, in the order in which it is listed."""
_NEEDED: Final = frozenset({POD, NODE})
"""Without these there is nothing to say."""


class ClusterListing(NamedTuple):
    """What a cluster holds, as far as we may see it."""

    #: Every object.
    records: list[Record]
    #: Resources that we may not list, and that are left out.
    hidden: list[str]


def listed(store: Store, wanted: Sequence[Kind] = LOOKED_AT) -> ClusterListing:
    """List a cluster.

    Raises:
        NotAllowedError: pods or nodes may not be listed; the message names the right.
        UnreachableError: the server does not answer.
    """
    records: list[Record] = []
    hidden = []
    for kind in wanted:
        try:
            records += store.list(kind).records
        except NotAllowedError:
            if kind in _NEEDED:
                raise
            hidden.append(kind.resource)
    return ClusterListing(records, hidden)


def story_of_events(store: Store, space: str, name: str, where: str) -> Story:
    """What a cluster's events tell of a pod; only what is about the pod is read.

    Args:
        store: the cluster.
        space: namespace of the pod.
        name: its name.
        where: the cluster in words.

    Raises:
        NotFoundError: there is no such pod; the nearest names are told.
        NotAllowedError: pods may not be read, or events not be listed.
        UnreachableError: the server does not answer.
    """
    pod = store.get(POD, space, name)
    if pod is None:
        records = store.list(POD, ListOptions(namespace=space)).records
        return story_of_objects(records, f"{space}/{name}", where)
    about = ListOptions(namespace=space, fields=f"involvedObject.uid={pod.uid}")
    records = [pod, *store.list(EVENT, about).records]
    return story_of_objects(records, f"{space}/{name}", f"the events in {where}")
