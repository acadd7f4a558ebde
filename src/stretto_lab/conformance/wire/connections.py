"""Connections to members that behave as the recorded ones."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.base.errors import UnreachableError
from stretto.federation.connection.protocol import (
    ClusterCredentials,
    MemberConnection,
    MemberConnector,
    MemberProbe,
)
from stretto.stores.store import Store


class RecordedConnector:
    """A connector to members without metrics that fails for some clusters like the recording."""

    def __init__(self, inner: MemberConnector, faults: Mapping[str, str]) -> None:
        """Initialize with the messages of failing clusters, by name."""
        self._inner = inner
        self._faults = faults

    def connect(
        self, name: str, spec: FederatedClusterSpec, credentials: ClusterCredentials
    ) -> MemberConnection:
        """Connect, or fail.

        Raises:
            UnreachableError: the recorded server refused this cluster.
        """
        if name in self._faults:
            raise UnreachableError(f"member {name}", self._faults[name])
        return _UnmeasuredConnection(self._inner.connect(name, spec, credentials))


class _UnmeasuredConnection:
    """A connection to a member that does not serve metrics, so no autoscaler acts."""

    def __init__(self, inner: MemberConnection) -> None:
        self._inner = inner

    @property
    def store(self) -> Store:
        """Its objects."""
        return self._inner.store

    def probe(self) -> Future[MemberProbe]:
        """Request its health and its kinds."""
        return self._inner.probe()

    def usage(self, namespace: str) -> Future[Sequence[PodMetrics]]:
        """Fail, as a server without metrics does."""
        failed: Future[Sequence[PodMetrics]] = Future()
        failed.set_exception(UnreachableError("metrics of pods", "the member serves no metrics"))
        return failed

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()
