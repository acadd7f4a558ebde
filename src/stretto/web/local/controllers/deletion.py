"""The objects of an API server, for the controllers of deletions."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from stretto.api.wire.kinds import Kind
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.reconciler import RetryError
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.removal import DeleteOptions
from stretto.workloads.deletion import DeletableObjects, KindName, Propagation

_RETRY_S: Final = 0.1
"""Seconds before the retry after a conflict."""


def objects_of_server(state: ApiState, client: ApiClient) -> DeletableObjects:
    """Return the objects of a server; an object whose deletion is refused stays until it changes.

    Args:
        state: the server.
        client: deletes objects.
    """

    def kinds() -> Mapping[KindName, Kind]:
        return {
            (each.kind.api_version, each.kind.kind): each.stored
            for each in state.resources.all()
            if each.computed is None and "delete" in each.facts.verbs
        }

    def delete(item: StoredObject, propagation: Propagation) -> None:
        record = item.record
        options = DeleteOptions(
            propagation_policy=propagation.value,
            preconditions={"uid": record.uid, "resourceVersion": str(record.version)},
        )
        with conflicts_retried():
            client.delete(record.kind, record.namespace, record.name, options)

    return DeletableObjects(kinds, delete)


@contextmanager
def conflicts_retried() -> Iterator[None]:
    """Retry a write of an object that has changed meanwhile; ignore other refusals.

    Raises:
        RetryError: the object has changed since it was read.
    """
    try:
        yield
    except ApiError as error:
        if error.reason == "Conflict":
            raise RetryError(str(error), _RETRY_S) from error
