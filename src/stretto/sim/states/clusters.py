"""The state of a live cluster: the objects of its API server, listed by kind.

Nothing is written. The lists are read one after another, so the state is not of one instant: pods
are listed before nodes, so that the node of every listed pod is listed too.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stretto.api.kinds.table import examined_kinds
from stretto.api.wire.kinds import EVENT, NODE, POD, Kind
from stretto.base.errors import NotAllowedError
from stretto.explain.story import Story, story_of_objects
from stretto.stores.store import ListOptions, Record, Store

_NEEDED: Final = frozenset({POD, NODE})
"""Kinds that a state must contain."""


class ClusterListing(NamedTuple):
    """The objects of a cluster that the user may list."""

    #: All listed objects.
    records: list[Record]
    #: Resources that the user may not list.
    hidden: list[str]


def listed(store: Store, wanted: Sequence[Kind] = ()) -> ClusterListing:
    """List a cluster.

    Args:
        store: the cluster.
        wanted: kinds to list; if empty, the kinds that the table of kinds marks as examined.

    Raises:
        NotAllowedError: pods or nodes may not be listed; the message contains the missing
            permission.
        UnreachableError: the server does not respond.
    """
    records: list[Record] = []
    hidden = []
    for kind in wanted or examined_kinds():
        try:
            records += store.list(kind).records
        except NotAllowedError:
            if kind in _NEEDED:
                raise
            hidden.append(kind.resource)
    return ClusterListing(records, hidden)


def story_of_events(store: Store, space: str, name: str, where: str) -> Story:
    """The history of a pod from a cluster's events; only the events of the pod are read.

    Args:
        store: the cluster.
        space: namespace of the pod.
        name: name of the pod.
        where: description of the cluster.

    Raises:
        NotFoundError: the pod does not exist; the message contains the nearest names.
        NotAllowedError: pods may not be read, or events may not be listed.
        UnreachableError: the server does not respond.
    """
    pod = store.get(POD, space, name)
    if pod is None:
        records = store.list(POD, ListOptions(namespace=space)).records
        return story_of_objects(records, f"{space}/{name}", where)
    about = ListOptions(namespace=space, fields=f"involvedObject.uid={pod.uid}")
    records = [pod, *store.list(EVENT, about).records]
    return story_of_objects(records, f"{space}/{name}", f"the events in {where}")
