"""Objects that joining writes to a member: the system namespace and the service account.

The namespace has the uid of its FederatedCluster. It belongs to one cluster object at a time, so
two federations never write to one member.
"""

import base64
from typing import Final

from stretto.api.wire.kinds import NAMESPACE, SERVICE_ACCOUNT, Kind
from stretto.base.errors import NotAllowedError, StrettoError
from stretto.federation import names
from stretto.federation.objects.membership.kinds import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    SECRET,
)
from stretto.federation.objects.membership.rights import ACCOUNT, ROLE
from stretto.reconcile import writes
from stretto.reconcile.cache import Fields, StoredObject
from stretto.reconcile.reconciler import RetryError
from stretto.stores.store import Store

TOKEN_DELAY: Final = 1.0
"""Seconds between two checks for the token, which a controller of the member writes."""


class UnjoinableError(StrettoError):
    """Error for a member that belongs to another cluster object."""


def claim_namespace(store: Store, namespace: str, cluster: StoredObject) -> StoredObject:
    """Create the system namespace in a member, or return the existing one of this cluster.

    Raises:
        UnjoinableError: the namespace belongs to another cluster object.
        RetryError: the member refused the creation, or the namespace is being deleted.
        UnreachableError: the member does not answer.
    """
    found = _get(store, NAMESPACE, "", namespace)
    if found is None:
        notes = {names.CLUSTER_UID: cluster.record.uid}
        metadata = {"name": namespace, "annotations": notes}
        record = writes.create(store, NAMESPACE, {"metadata": metadata})
        assert record is not None
        return StoredObject(record)
    if found.is_terminating:
        raise RetryError(f"namespace {namespace} of the member is being deleted")
    if found.annotations.get(names.CLUSTER_UID) != cluster.record.uid:
        raise UnjoinableError
    return found


def create_account(store: Store, namespace: StoredObject, rules: list[Fields]) -> str:
    """Create the service account with its rights; return its token.

    Raises:
        RetryError: the member refused an object, or has not written the token yet.
        UnreachableError: the member does not answer.
    """
    space = namespace.record.name
    account = {
        "metadata": {"name": ACCOUNT, "namespace": space},
        "automountServiceAccountToken": False,
    }
    _ensure(store, SERVICE_ACCOUNT, account)
    notes = {"kubernetes.io/service-account.name": ACCOUNT}
    metadata = {"name": ACCOUNT, "namespace": space, "annotations": notes}
    kind = "kubernetes.io/service-account-token"
    _ensure(store, SECRET, {"metadata": metadata, "type": kind})
    grant(store, namespace, rules)
    secret = _get(store, SECRET, space, ACCOUNT)
    token = ((secret.fields.get("data") or {}) if secret is not None else {}).get("token")
    if not token:
        message = f"secret {space}/{ACCOUNT} of the member has no token yet"
        hint = "the controller manager of the member writes it"
        raise RetryError(f"{message}: {hint}", TOKEN_DELAY)
    return base64.b64decode(token).decode("ascii")


def grant(store: Store, namespace: StoredObject, rules: list[Fields]) -> None:
    """Update the rights of the service account; they are deleted with the namespace.

    Raises:
        RetryError: the member refused the update.
        UnreachableError: the member does not answer.
    """
    owner = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "name": namespace.record.name,
        "uid": namespace.record.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {"name": ROLE, "ownerReferences": [owner]}
    role = _ensure(store, CLUSTER_ROLE, {"metadata": metadata, "rules": rules})
    if role is not None and role.fields.get("rules") != rules:
        writes.update(store, role, {**role.fields, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace.record.name}
    reference = {"apiGroup": CLUSTER_ROLE.group, "kind": "ClusterRole", "name": ROLE}
    binding = {"metadata": metadata, "subjects": [subject], "roleRef": reference}
    _ensure(store, CLUSTER_ROLE_BINDING, binding)


def has_rights(store: Store, rules: list[Fields]) -> bool:
    """True if the ClusterRole has exactly these rules; false if it may not be read.

    Raises:
        UnreachableError: the member does not answer.
    """
    try:
        role = _get(store, CLUSTER_ROLE, "", ROLE)
    except NotAllowedError:
        return False
    return role is not None and role.fields.get("rules") == rules


def _ensure(store: Store, kind: Kind, fields: Fields) -> StoredObject | None:
    """Create an object if it does not exist; return the existing object."""
    metadata = fields["metadata"]
    found = _get(store, kind, metadata.get("namespace", ""), metadata["name"])
    if found is None:
        writes.create(store, kind, fields)
    return found


def _get(store: Store, kind: Kind, namespace: str, name: str) -> StoredObject | None:
    record = store.get_at_once(kind, namespace, name)
    return StoredObject(record) if record is not None else None
