"""Opens the stores that commands read: a cluster's API server, or a copy of a durable store."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from stretto.base.errors import InputError

if TYPE_CHECKING:
    from stretto.base.clock import Clock
    from stretto.base.rng import Rng
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.store import Store

SQLITE: Final = "sqlite:"
"""Prefix of a durable store's path."""


class ClusterStore(NamedTuple):
    """A cluster's API server as a store."""

    #: The store; the caller closes it.
    store: "KubeStore"
    #: Default namespace of the kubeconfig's context.
    namespace: str


def cluster_store(
    kubeconfig: Path | None, context: str, *, patience: float | None = None
) -> ClusterStore:
    """Open a cluster for reading.

    Args:
        kubeconfig: its kubeconfig; ``None`` for kubectl's default.
        context: context of the kubeconfig; empty for the current one.
        patience: seconds for which a failing read is retried; ``None`` for the store's default.

    Raises:
        InputError: the kubeconfig is invalid.
    """
    from stretto.base.rng import Rng
    from stretto.stores.kube.login.access import access_from
    from stretto.stores.kube.store import KubeStore
    from stretto.stores.kube.transport.options import KubeOptions

    access = access_from(kubeconfig, context)
    settings = KubeOptions() if patience is None else KubeOptions(read_patience=patience)
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


def copied_store(name: str, clock: "Clock") -> "Store":
    """Copy a durable store into memory, so that it does not change while it is read.

    Raises:
        InputError: the name is not ``sqlite:PATH``, or the file is unreadable.
    """
    from stretto.base.rng import Rng
    from stretto.stores.embedded.memory import MemoryStore
    from stretto.stores.embedded.sqlite import read_store

    if not name.startswith(SQLITE):
        raise InputError("--store", name, "sqlite: and the path of a file", "sqlite:run.db")
    store = MemoryStore(clock, Rng(0))
    store.seed(read_store(Path(name.removeprefix(SQLITE))))
    return store
