"""Pods of the members of a fleet, and the unreadable members with the reason."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from stretto.base.errors import InputError, NotAllowedError, UnreachableError
from stretto.cli.commands.federation.source import OpenedFleet

if TYPE_CHECKING:
    from stretto.reconcile.cache import StoredObject
    from stretto.stores.store import Record, Store


class FoundPod(NamedTuple):
    """A pod of a member."""

    #: Name of the cluster.
    cluster: str
    #: Store of the cluster.
    store: "Store"
    #: The pod object.
    pod: "Record"


class PodSearch(NamedTuple):
    """Result of a search over members."""

    #: Pods with the name.
    found: list[FoundPod]
    #: Reason of each unreadable cluster.
    unread: dict[str, str]


@contextmanager
def searched_pods(fleet: OpenedFleet, name: str, only: str) -> Iterator[PodSearch]:
    """Search for a pod in the members, which are open for the duration of the block.

    Args:
        fleet: the fleet.
        name: ``NAME`` of the namespace ``default``, or ``NAMESPACE/NAME``.
        only: the only cluster; empty for all.
    """
    from stretto.api.wire.kinds import POD

    namespace, _, short = name.rpartition("/")
    search = PodSearch([], {})
    with ExitStack() as opened:
        for cluster in fleet.fleet.clusters:
            where = cluster.record.name
            if only not in ("", where):
                continue
            try:
                store = _store(fleet, cluster, opened)
                pod = store.get(POD, namespace or "default", short)
            except (UnreachableError, NotAllowedError, InputError) as error:
                search.unread[where] = str(error)
                continue
            if pod is not None:
                search.found.append(FoundPod(where, store, pod))
        yield search


def _store(fleet: OpenedFleet, cluster: "StoredObject", opened: ExitStack) -> "Store":
    """Open the store of a member.

    Raises:
        UnreachableError: there is no such member, or the host does not answer.
        NotAllowedError: the read of the cluster's secret is forbidden.
        InputError: the secret or the address is invalid.
    """
    name = cluster.record.name
    if fleet.members is not None:
        if name not in fleet.members:
            raise UnreachableError(f"member {name}", "this process has no such member")
        return fleet.members[name].served
    from stretto.api.types.federation.policies import FederatedCluster
    from stretto.federation.connection.kube import member_store
    from stretto.federation.connection.protocol import ClusterCredentials
    from stretto.federation.objects.membership.credentials import read_credentials
    from stretto.federation.objects.membership.kinds import SECRET
    from stretto.reconcile.cache import StoredObject

    spec = cluster.read(FederatedCluster).spec
    credentials = ClusterCredentials("")
    if spec.secret_ref.name:
        space = fleet.fleet.settings.namespace
        secret = fleet.fleet.host.store.get(SECRET, space, spec.secret_ref.name)
        if secret is None:
            raise InputError("spec.secretRef.name", spec.secret_ref.name, "a secret that exists")
        credentials = read_credentials(StoredObject(secret))
    store = member_store(name, spec, credentials)
    opened.callback(store.close)
    return store
