"""Protocol between the federation and a member: a store and a health probe."""

from collections.abc import Sequence
from concurrent.futures import Future
from enum import Enum
from typing import Protocol

import msgspec

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.types.federation.policies import APIResource, FederatedClusterSpec
from stretto.stores.store import Store


class ClusterCredentials(msgspec.Struct, frozen=True):
    """Decoded content of the secret of a cluster."""

    #: Namespace and name of the secret, for messages.
    where: str
    #: Certificate authority of the API server (PEM); empty for the system's.
    authority: bytes = b""
    #: Client certificate (PEM); empty if there is none.
    certificate: bytes = b""
    #: Key of the client certificate (PEM); empty if there is none.
    key: bytes = b""
    #: Token for joining; empty if there is none.
    bootstrap_token: str = ""
    #: Token of the service account that joining has created; empty before joining.
    account_token: str = ""


class MemberAnswer(Enum):
    """Health of an API server."""

    #: It is healthy.
    HEALTHY = "healthy"
    #: It answers, but is unhealthy or overloaded.
    UNHEALTHY = "unhealthy"
    #: It refuses the credentials.
    REFUSED = "refused"
    #: It does not answer.
    UNREACHABLE = "unreachable"


class MemberProbe(msgspec.Struct, frozen=True):
    """The answer of one member at one time."""

    #: Health of the API server.
    answer: MemberAnswer
    #: Reason why it is not healthy; empty if it is.
    message: str = ""
    #: The kinds that it serves, by group, version and kind; ``None`` if unknown.
    kinds: tuple[APIResource, ...] | None = None


class MemberConnection(Protocol):
    """An open connection to a member."""

    @property
    def store(self) -> Store:
        """The objects of the member."""
        ...

    def probe(self) -> Future[MemberProbe]:
        """Request health and served kinds; returns at once."""
        ...

    def usage(self, namespace: str) -> Future[Sequence[PodMetrics]]:
        """Request the usage of the pods of a namespace; returns at once.

        The future raises a ``StrettoError`` if the member does not report the usage.
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
        """Open a connection with the service account's token, or else with the join credentials.

        Args:
            name: name of the FederatedCluster.
            spec: address and options of the connection.
            credentials: decoded content of its secret.

        Raises:
            InputError: the address or the credentials cannot be used.
            UnreachableError: the member does not answer.
        """
        ...
