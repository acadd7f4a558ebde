"""Opens the API server of a cluster as a store."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from stretto.base.rng import Rng
    from stretto.stores.kube.store import KubeStore


class ClusterStore(NamedTuple):
    """A cluster's API server as a store."""

    #: The store; the caller closes it.
    store: "KubeStore"
    #: Default namespace of the kubeconfig's context.
    namespace: str


def cluster_store(
    kubeconfig: Path | None, context: str, *, read_timeout: float | None = None
) -> ClusterStore:
    """Open a cluster for reading.

    Args:
        kubeconfig: kubeconfig of the cluster; ``None`` for kubectl's default.
        context: context of the kubeconfig; empty for the current one.
        read_timeout: seconds for which a failing read is retried; ``None`` for the store's default.

    Raises:
        InputError: the kubeconfig is invalid.
    """
    from stretto.base.rng import Rng
    from stretto.stores.kube.login.access import access_from
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.kube.transport.options import KubeOptions

    access = access_from(kubeconfig, context)
    settings = KubeOptions() if read_timeout is None else KubeOptions(read_timeout=read_timeout)
    return ClusterStore(KubeStore(access, Rng(0), settings), access.namespace)


def scheduler_store(kubeconfig: Path | None, context: str, rng: "Rng") -> "KubeStore":
    """Open a cluster with the connection settings of the daemons; the caller closes it.

    Raises:
        InputError: the kubeconfig is invalid.
    """
    from stretto.daemons.scheduler import LINE
    from stretto.stores.kube.login.access import access_from
    from stretto.stores.kube.store import KubeStore

    return KubeStore(access_from(kubeconfig, context), rng, LINE)
