"""Connections to members that are API servers."""

import ssl
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Final

from stretto.api.types.federation.policies import APIResource, FederatedClusterSpec
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError, StrettoError
from stretto.base.rng import Rng
from stretto.federation.connection.identity import check_identity
from stretto.federation.connection.protocol import ClusterCredentials, MemberAnswer, MemberProbe
from stretto.stores.kube.login.access import DEFAULT_NAMESPACE, Login
from stretto.stores.kube.login.messages import DistrustedError
from stretto.stores.kube.login.trust import trusting_context
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.survey import ServerSurvey
from stretto.stores.kube.transport.options import KubeOptions

MEMBER_OPTIONS: Final = KubeOptions(write_timeout=3.0, read_timeout=4.0, answer=4.0)
"""Shorter times than those of a scheduler: one silent member must not delay the others for long."""
_SCHEMES: Final = ("https://", "http://127.0.0.1", "http://localhost")
_REFUSALS: Final = (401, 403)


class SecretAccess:
    """Logs in to a member with what its secret holds."""

    def __init__(self, spec: FederatedClusterSpec, credentials: ClusterCredentials) -> None:
        """The token of the service account if there is one, else what joins.

        Raises:
            InputError: the address or the credentials cannot be used.
        """
        server = spec.api_endpoint.rstrip("/")
        if not server.startswith(_SCHEMES):
            expected = "an address such as https://host:6443"
            raise InputError("spec.apiEndpoint", server or None, expected)
        check_identity(credentials)
        token = credentials.account_token or credentials.bootstrap_token
        self._login = Login(
            server,
            _context(spec, credentials, shows_certificate=not token),
            f"Bearer {token}" if token else "",
            shown=f"the credentials in secret {credentials.where}",
        )

    @property
    def namespace(self) -> str:
        """The default namespace."""
        return DEFAULT_NAMESPACE

    async def login(self, *, renew: bool = False) -> Login:
        """The login; a changed secret opens another connection."""
        del renew
        return self._login


class KubeMember:
    """A connection to the API server of a member."""

    def __init__(self, store: KubeStore) -> None:
        """Over an open store."""
        self._store = store

    @property
    def store(self) -> KubeStore:
        """Its objects."""
        return self._store

    def probe(self) -> Future[MemberProbe]:
        """Ask for its health and its kinds."""
        made: Future[MemberProbe] = Future()
        self._store.survey().add_done_callback(_forwarding(made))
        return made

    def close(self) -> None:
        """Close the connection."""
        self._store.close()


class KubeConnector:
    """Opens connections to API servers."""

    def __init__(self, rng: Rng, options: KubeOptions = MEMBER_OPTIONS) -> None:
        """Open connections.

        Args:
            rng: spreads waits between attempts.
            options: timeouts and limits of every connection.
        """
        self._rng = rng
        self._options = options

    def connect(
        self, name: str, spec: FederatedClusterSpec, credentials: ClusterCredentials
    ) -> KubeMember:
        """Log in to a member; it is asked with the first call.

        Raises:
            InputError: the address or the credentials cannot be used.
        """
        access = SecretAccess(spec, credentials)
        return KubeMember(KubeStore(access, self._rng.child("member", name), self._options))


def _forwarding(made: Future[MemberProbe]) -> Callable[[Future[ServerSurvey]], None]:
    def forward(done: Future[ServerSurvey]) -> None:
        try:
            made.set_result(_probe(done.result()))
        except DistrustedError as error:
            made.set_result(MemberProbe(MemberAnswer.REFUSED, str(error)))
        except StrettoError as error:
            made.set_result(MemberProbe(MemberAnswer.UNREACHABLE, str(error)))
        except CancelledError:
            made.cancel()

    return forward


def _probe(survey: ServerSurvey) -> MemberProbe:
    """What an answer of the server means."""
    if survey.status == 200:
        kinds = tuple(map(api_resource, survey.kinds)) if survey.kinds is not None else None
        return MemberProbe(MemberAnswer.HEALTHY, "", kinds)
    answer = MemberAnswer.REFUSED if survey.status in _REFUSALS else MemberAnswer.UNHEALTHY
    return MemberProbe(answer, survey.message)


def api_resource(kind: Kind) -> APIResource:
    """A served kind as a FederatedCluster lists it."""
    scope = "Namespaced" if kind.namespaced else "Cluster"
    return APIResource(kind.group, kind.version, kind.kind, kind.plural, scope)


def _context(
    spec: FederatedClusterSpec, credentials: ClusterCredentials, *, shows_certificate: bool
) -> ssl.SSLContext | None:
    """The TLS context; ``None`` for plain HTTP on this machine.

    Raises:
        InputError: the authority, the certificate or its key cannot be used.
    """
    if not spec.api_endpoint.startswith("https:"):
        return None
    certificate = credentials.certificate if shows_certificate else b""
    try:
        return trusting_context(
            credentials.authority, certificate, credentials.key, is_blind=spec.insecure
        )
    except (OSError, ValueError) as error:
        where = f"secret {credentials.where}: certificates"
        hint = "take them from a kubeconfig of the member; a key must not be locked"
        raise InputError(where, None, f"PEM that OpenSSL reads: {error}", hint) from error
