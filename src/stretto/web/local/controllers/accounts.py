"""Objects of every namespace: a default ServiceAccount, and the authority that pods trust."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.wire.kinds import CONFIG_MAP, NAMESPACE, SERVICE_ACCOUNT, Kind
from stretto.reconcile.cache import Change
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient
from stretto.workloads.cluster import LocalCluster

_ACCOUNT: Final = "default"
_AUTHORITY: Final = "kube-root-ca.crt"
_EXPECTED: Final = frozenset({"AlreadyExists", "NotFound", "Forbidden"})
"""Expected reasons of a refusal: the object exists, or the namespace is gone or terminating."""
_NOTE: Final = {
    "kubernetes.io/description": (
        "The certificate authority with which pods verify the API server of this cluster."
    )
}


class AccountController:
    """Controller that creates both objects in each namespace, and restores them after changes."""

    def __init__(self, cluster: LocalCluster, client: ApiClient, authority: bytes) -> None:
        """Control the namespaces of a cluster.

        Args:
            cluster: the cluster.
            client: creates the objects.
            authority: PEM certificate; empty for plain HTTP.
        """
        #: Name in logs and messages.
        self.name = f"{cluster.name}/accounts"
        self._cluster = cluster
        self._namespaces = cluster.objects(NAMESPACE)
        self._accounts = cluster.objects(SERVICE_ACCOUNT)
        self._maps = cluster.objects(CONFIG_MAP)
        self._client = client
        self._authority = authority.decode()

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The changed namespace, or the namespace of a deleted account or changed authority."""
        record = change.object.record
        if change.kind == NAMESPACE:
            yield record.name
            return
        is_lost = change.kind == SERVICE_ACCOUNT and change.new is None
        if is_lost or (change.kind == CONFIG_MAP and record.name == _AUTHORITY):
            yield record.namespace

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create the missing objects of one namespace."""
        name = str(key)
        found = self._namespaces.get("", name)
        if found is None or found.is_terminating:
            return None
        if self._accounts.get(name, _ACCOUNT) is None:
            self._create(SERVICE_ACCOUNT, {"metadata": {"name": _ACCOUNT, "namespace": name}})
        self._trust(name)
        return None

    def _trust(self, namespace: str) -> None:
        """Let a namespace state the current authority; a store outlives deleted keys."""
        stated, found = {"ca.crt": self._authority}, self._maps.get(namespace, _AUTHORITY)
        if found is None:
            metadata = {"name": _AUTHORITY, "namespace": namespace, "annotations": _NOTE}
            self._create(CONFIG_MAP, {"metadata": metadata, "data": stated})
        elif found.fields.get("data") != stated:
            others = dict.fromkeys(found.fields.get("data") or (), None)
            self._cluster.patch(found, {"data": {**others, **stated}})

    def _create(self, kind: Kind, item: dict[str, object]) -> None:
        try:
            self._client.create(kind, item)
        except ApiError as error:
            if error.reason not in _EXPECTED:
                raise
