"""Actions in a local cluster, with the rights of its administrator."""

from typing import Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.base.errors import NotFoundError
from stretto.stores.rights import ObjectRight
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient
from stretto.web.local.store import AdmittingStore
from stretto.web.views.acting.writes import StoreActions

_MANAGER: Final = "stretto-dashboard"
"""Name of the dashboard as a field manager."""


class LocalAdministrator:
    """The user of the actions of a local cluster; it has all rights."""

    #: Its name, for display.
    name = "the administrator of this cluster"
    #: Namespace of objects without a namespace.
    namespace = "default"

    def __init__(self, client: ApiClient) -> None:
        """Create an administrator who writes through a client."""
        self._client = client

    def refusal(self, right: ObjectRight) -> str:
        """Return an empty text: every right is granted."""
        del right
        return ""

    def trial(self, kind: Kind, body: bytes) -> str:
        """Return why the API refuses an object in a dry run of its creation; empty if not."""
        try:
            self._client.create(kind, msgspec.json.decode(body), dry_run=True)
        except ApiError as error:
            return error.message
        return ""

    def served_kind(self, stated: Kind) -> Kind:
        """Return the served kind of an object's ``apiVersion`` and ``kind``.

        Raises:
            NotFoundError: the server does not serve it.
        """
        found = self._client.state.resources.of_kind(stated.group, stated.version, stated.kind)
        if found is None:
            what = f"kind {stated.api_version} {stated.kind}"
            raise NotFoundError(what, "this cluster does not serve it")
        return found.kind


def local_actions(client: ApiClient) -> StoreActions:
    """Return the actions of the administrator, with the admission of the API.

    Args:
        client: writes to the server.
    """
    named = client.named(_MANAGER)
    store = AdmittingStore(client.state.storage.store, named)
    return StoreActions(store, LocalAdministrator(named))
