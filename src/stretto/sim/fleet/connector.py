"""Connections to members of this process, by their address or by the name of their cluster."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.base.errors import UnreachableError
from stretto.federation.connection.identity import check_identity
from stretto.federation.connection.probing import api_resource
from stretto.federation.connection.protocol import ClusterCredentials, MemberAnswer, MemberProbe
from stretto.sim.fleet.member import EmbeddedMember
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.sim.fleet.use import simulated_use
from stretto.stores.store import Store

_ANSWERS = {
    ServerAvailability.ANSWERS: MemberAnswer.HEALTHY,
    ServerAvailability.SILENT: MemberAnswer.UNREACHABLE,
    ServerAvailability.BUSY: MemberAnswer.UNHEALTHY,
    ServerAvailability.REFUSES: MemberAnswer.REFUSED,
    ServerAvailability.SLOW: MemberAnswer.UNREACHABLE,
}


class EmbeddedConnection:
    """A connection to a member of this process."""

    def __init__(self, member: EmbeddedMember) -> None:
        """Connect to ``member``."""
        self._member = member

    @property
    def store(self) -> Store:
        """Its objects."""
        return self._member.served

    def probe(self) -> Future[MemberProbe]:
        """Request its health and its kinds; the result is available at once."""
        made: Future[MemberProbe] = Future()
        now = self._member.served.availability
        if self._member.served.is_readable:
            kinds = sorted(map(api_resource, self._member.kinds()), key=lambda x: (x.kind, x.group))
            made.set_result(MemberProbe(MemberAnswer.HEALTHY, "", tuple(kinds)))
        else:
            made.set_result(MemberProbe(_ANSWERS[now], f"the member is {now.value}"))
        return made

    def usage(self, namespace: str) -> Future[Sequence[PodMetrics]]:
        """Request the usage of the pods of a namespace; the result is available at once."""
        made: Future[Sequence[PodMetrics]] = Future()
        if self._member.served.is_readable:
            use = simulated_use(self._member.cache, self._member.clock)
            made.set_result(use.pods(namespace))
        else:
            availability = self._member.served.availability.value
            made.set_exception(UnreachableError("metrics of pods", f"the member is {availability}"))
        return made

    def close(self) -> None:
        """Do nothing; the member continues to run."""


class EmbeddedConnector:
    """Finds members by the host of ``spec.apiEndpoint``, else by the name of their cluster."""

    def __init__(self, members: Mapping[str, EmbeddedMember]) -> None:
        """Initialize with members by name; the mapping may change later."""
        self._members = members

    def connect(
        self, name: str, spec: FederatedClusterSpec, credentials: ClusterCredentials
    ) -> EmbeddedConnection:
        """Connect to a member; only a cluster without a secret needs no credentials.

        Raises:
            InputError: the secret does not identify the federation.
            UnreachableError: there is no such member.
        """
        if credentials.where:
            check_identity(credentials)
        host = spec.api_endpoint.rpartition("//")[2] or name
        member = self._members.get(host)
        if member is None:
            known = ", ".join(sorted(self._members)) or "none"
            raise UnreachableError(f"member {host}", f"this process has only: {known}")
        return EmbeddedConnection(member)
