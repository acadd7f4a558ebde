"""Connections that fail as recorded ones did."""

from collections.abc import Mapping

from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.base.errors import UnreachableError
from stretto.federation.connection.protocol import (
    ClusterCredentials,
    MemberConnection,
    MemberConnector,
)


class RefusingConnector:
    """A connector that fails for some clusters as the recorded servers did."""

    def __init__(self, inner: MemberConnector, faults: Mapping[str, str]) -> None:
        """Fail for the clusters of ``faults`` with their message."""
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
