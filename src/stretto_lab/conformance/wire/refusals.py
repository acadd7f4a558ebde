"""Connections with recorded failures."""

from collections.abc import Mapping

from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.base.errors import UnreachableError
from stretto.federation.connection.protocol import (
    ClusterCredentials,
    MemberConnection,
    MemberConnector,
)


class RefusingConnector:
    """A connector that fails for some clusters like the recorded servers."""

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
        return self._inner.connect(name, spec, credentials)
