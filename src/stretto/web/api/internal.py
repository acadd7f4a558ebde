"""Writes of the server's own components, without HTTP."""

import copy
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.web.api.authn.users import User
from stretto.web.api.call import Call, WriteOptions
from stretto.web.api.failures import not_found
from stretto.web.api.message import ApiRequest
from stretto.web.api.objects.naming import given_object
from stretto.web.api.resources import ServedResource
from stretto.web.api.routes import Route
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.removal import DeleteOptions, remove
from stretto.web.api.webhooks.pending import PendingWrites, StartReviews, refuse_reviews
from stretto.web.api.writes import create_object

Json = dict[str, Any]

IN_BACKGROUND: Final = DeleteOptions(propagation_policy="Background")
"""Options of a deletion that deletes dependents later."""
AT_ONCE: Final = DeleteOptions(propagation_policy="Background", grace_period_seconds=0)
"""Options of a deletion without grace period."""


class ApiClient:
    """Client that creates and deletes objects on behalf of a component."""

    def __init__(self, state: ApiState, manager: str, start: StartReviews | None = None) -> None:
        """Create a client for a component of the server.

        Args:
            state: the server.
            manager: name of the component as a field manager.
            start: calls webhooks in the background; ``None``: no webhooks are called.
        """
        #: The server.
        self.state = state
        self._manager = manager
        self._start = refuse_reviews if start is None else start
        #: Writes that wait for webhooks.
        self.writes = PendingWrites(self._start)
        self._user = User(f"system:{manager}", "", ("system:masters",))

    def named(self, manager: str) -> "ApiClient":
        """Return a client for another component of the server."""
        return ApiClient(self.state, manager, self._start)

    def serves(self, kind: Kind) -> bool:
        """Return whether the API serves a kind."""
        return self._resource(kind) is not None

    def create(self, kind: Kind, item: Json, *, dry_run: bool = False) -> Json:
        """Create an object; return it as stored.

        Args:
            kind: its kind.
            item: the object.
            dry_run: whether nothing is stored, as with ``dryRun=All``.

        Raises:
            ApiError: the object is refused.
        """
        resource = self._served(kind)
        namespace = (item.get("metadata") or {}).get("namespace", "")
        if kind.namespaced and not namespace:
            namespace = "default"
        call = self.call(resource, "create", namespace, "", dry_run=dry_run)

        def write(call: Call) -> Json:
            read = given_object(call, copy.deepcopy(item))
            if kind.namespaced:
                read["metadata"]["namespace"] = namespace
            return create_object(self.state, call, read)

        body = msgspec.json.encode(item).decode()
        purpose = f"create {kind.resource} {namespace} {dry_run} {body}"
        return self.writes.run(purpose, call, write)

    def delete(
        self, kind: Kind, namespace: str, name: str, options: DeleteOptions = IN_BACKGROUND
    ) -> None:
        """Delete an object; by default in the background, after its own grace period.

        Raises:
            ApiError: the object does not exist, the deletion is refused, or a precondition fails.
        """
        resource = self._served(kind)
        found = self.state.storage.get(resource, namespace, name)
        call = self.call(resource, "delete", namespace, name)
        purpose = f"delete {kind.resource} {namespace} {name} {found.record.uid}"
        self.writes.run(purpose, call, lambda call: remove(self.state, call, found, options))

    def call(
        self,
        resource: ServedResource,
        verb: str,
        namespace: str,
        name: str,
        *,
        dry_run: bool = False,
    ) -> Call:
        """Return a request of the component about an object."""
        kind = resource.kind
        route = Route(kind.group, kind.version, kind.plural, namespace, name)
        options = WriteOptions(dry_run=dry_run, manager=self._manager)
        return Call(ApiRequest("", ""), route, resource, verb, self._user, options)

    def _resource(self, kind: Kind) -> ServedResource | None:
        return self.state.resources.find(kind.group, kind.version, kind.plural)

    def _served(self, kind: Kind) -> ServedResource:
        found = self._resource(kind)
        if found is None:
            raise not_found(kind.group, kind.plural, "")
        return found
