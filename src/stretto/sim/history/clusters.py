"""The state of a live cluster: the objects that its API server holds now, listed kind by kind.

Nothing is written, and scheduling goes on. The lists follow one another, so the state is not of one
instant: pods come first and nodes after them, so that a node created in between is known when a pod
names it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from stretto.api.kinds.table import examined_kinds
from stretto.api.wire.kinds import EVENT, NODE, POD, Kind
from stretto.base.errors import NotAllowedError
from stretto.explain.story import Story, story_of_objects
from stretto.stores.store import ListOptions, Record, Store

_NEEDED: Final = frozenset({POD, NODE})
"""Kinds without which there is no state."""


class ClusterListing(NamedTuple):
    """The objects of a cluster that the user may list."""

    #: Every object.
    records: list[Record]
    #: Resources that the user may not list.
    hidden: list[str]


def listed(store: Store, wanted: Sequence[Kind] = ()) -> ClusterListing:
    """List a cluster.

    Args:
        store: the cluster.
        wanted: kinds to list; none stands for those that the table of kinds marks as examined.

    Raises:
        NotAllowedError: pods or nodes may not be listed; the message names the missing right.
        UnreachableError: the server does not answer.
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
