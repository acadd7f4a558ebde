"""The contract between the federation and a member: a store, and an answer about its health."""

from collections.abc import Sequence
from concurrent.futures import Future
from enum import Enum
from typing import Protocol

import msgspec

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.types.federation.policies import APIResource, FederatedClusterSpec
from stretto.stores.store import Store


class ClusterCredentials(msgspec.Struct, frozen=True):
    """What the secret of a cluster holds, decoded."""

    #: The secret, for messages: namespace and name.
    where: str
    #: Certificate authority of the API server (PEM); empty for the system's.
    authority: bytes = b""
    #: Client certificate (PEM); empty without one.
    certificate: bytes = b""
    #: Key of the client certificate (PEM).
    key: bytes = b""
    #: Token to join with; empty without one.
    bootstrap_token: str = ""
    #: Token of the service account that joining has created; empty before.
    account_token: str = ""


class MemberAnswer(Enum):
    """What an API server says about itself."""

    #: It is healthy.
    HEALTHY = "healthy"
    #: It answers, but is not healthy, or is overloaded.
    UNHEALTHY = "unhealthy"
    #: It refuses the credentials.
    REFUSED = "refused"
    #: It does not answer.
    UNREACHABLE = "unreachable"


class MemberProbe(msgspec.Struct, frozen=True):
    """The answer of one member at one time."""

    #: What it says.
    answer: MemberAnswer
    #: Why it is not healthy; empty if it is.
    message: str = ""
    #: The kinds that it serves, by group, version and kind; ``None`` if it did not tell.
    kinds: tuple[APIResource, ...] | None = None


class MemberConnection(Protocol):
    """An open connection to a member."""

    @property
    def store(self) -> Store:
        """Its objects."""
        ...

    def probe(self) -> Future[MemberProbe]:
        """Ask for its health and its kinds; the answer comes later."""
        ...

    def usage(self, namespace: str) -> Future[Sequence[PodMetrics]]:
        """Ask what the pods of a namespace use; the answer comes later.

        The future raises a ``StrettoError`` if the member does not say.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class MemberConnector(Protocol):
    """Opens connections to members."""

    def connect(
        self, name: str, spec: FederatedClusterSpec, credentials: ClusterCredentials
    ) -> MemberConnection:
        """Open a connection with the token of the service account, else with what joins.

        Args:
            name: name of the FederatedCluster.
            spec: how it is reached.
            credentials: what its secret holds.

        Raises:
            InputError: the address or the credentials cannot be used.
            UnreachableError: the member does not answer.
        """
        ...
