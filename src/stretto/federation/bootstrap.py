"""Objects that a host needs before the controllers start for the first time."""

from typing import Any

import msgspec

from stretto.api.kinds.federation import FEDERATED_TYPE_CONFIG
from stretto.api.wire.kinds import NAMESPACE, Kind
from stretto.base.errors import NotAllowedError, NotFoundError
from stretto.federation import names
from stretto.federation.objects.defaults import default_types
from stretto.stores.store import StatusReason, Store

_CRDS = "install its CRDs: kubectl apply -f deploy/federation/crds"


def bootstrap(host: Store, namespace: str = names.SYSTEM_NAMESPACE) -> list[str]:
    """Create the system namespace, and the default configured kinds if the host has none.

    A host with a FederatedTypeConfig keeps exactly its own ones, so a configuration that an
    operator removes is not created again.

    Args:
        host: the store of the host.
        namespace: the system namespace.

    Returns:
        Kind and name of each created object; empty from the second start on.

    Raises:
        NotFoundError: the host does not serve the kinds of a federation.
        NotAllowedError: the host refuses an object.
        UnreachableError: the host does not answer.
    """
    made = []
    if host.get_at_once(NAMESPACE, "", namespace) is None:
        made += _created(host, NAMESPACE, {"metadata": {"name": namespace}})
    kind = FEDERATED_TYPE_CONFIG.kind
    if not host.list(kind).records:
        for body in default_types():
            made += _created(host, kind, body)
    return made


def _created(host: Store, kind: Kind, body: dict[str, Any]) -> list[str]:
    """Create one object; return nothing if another process has created it."""
    what = f"{kind.kind} {body['metadata']['name']}"
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
    reply = host.create(kind, [msgspec.json.encode(whole)])[0]
    if reply.code is StatusReason.ALREADY_EXISTS:
        return []
    if reply.code is StatusReason.NOT_FOUND:
        raise NotFoundError(f"kind {kind.kind} of the host", reply.message, _CRDS)
    if reply.code is not StatusReason.NONE:
        raise NotAllowedError(f"create {what} on the host", reply.message)
    return [what]
