"""Opens the API server of a cluster as a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from stretto.base.rng import Rng
    from stretto.stores.kube.store import KubeStore


CONNECT_S: Final = 2.0
"""Seconds in which a daemon must be connected."""
ANSWER_S: Final = 4.0
"""Seconds for an answer; with ``CONNECT_S`` at most the longest write that the lease allows."""


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
    from stretto.stores.kube.login.access import access_from
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.kube.transport.options import KubeOptions

    settings = KubeOptions(connect=CONNECT_S, answer=ANSWER_S)
    return KubeStore(access_from(kubeconfig, context), rng, settings)
