"""Login to members with the credentials in the secrets of their clusters."""

import ssl

from stretto.api.types.federation.policies import FederatedClusterSpec
from stretto.api.wire.kinds import DEFAULT_NAMESPACE
from stretto.base.errors import InputError
from stretto.federation.connection.identity import check_identity
from stretto.federation.connection.protocol import ClusterCredentials
from stretto.stores.kube.login.access import Login, safe_address
from stretto.stores.kube.login.trust import trusting_context


class SecretAccess:
    """Login to a member with the credentials in its secret."""

    def __init__(self, spec: FederatedClusterSpec, credentials: ClusterCredentials) -> None:
        """Use the token of the service account if there is one, else the credentials for joining.

        Raises:
            InputError: the address or the credentials cannot be used.
        """
        server = safe_address(spec.api_endpoint, "spec.apiEndpoint")
        check_identity(credentials)
        token = credentials.account_token or credentials.bootstrap_token
        self._login = Login(
            server,
            _context(server, spec, credentials, shows_certificate=not token),
            f"Bearer {token}" if token else "",
            shown=f"the credentials in secret {credentials.where}",
        )

    @property
    def namespace(self) -> str:
        """The default namespace."""
        return DEFAULT_NAMESPACE

    async def login(self, *, renew: bool = False) -> Login:
        """The login; a changed secret opens a new connection instead of renewing it."""
        del renew
        return self._login


def _context(
    server: str,
    spec: FederatedClusterSpec,
    credentials: ClusterCredentials,
    *,
    shows_certificate: bool,
) -> ssl.SSLContext | None:
    """The TLS context; ``None`` for plain HTTP on this machine.

    Raises:
        InputError: the authority, the certificate or its key cannot be used.
    """
    if not server.startswith("https:"):
        return None
    certificate = credentials.certificate if shows_certificate else b""
    try:
        return trusting_context(
            credentials.authority, certificate, credentials.key, is_blind=spec.insecure
        )
    except (OSError, ValueError) as error:
        where = f"secret {credentials.where}: certificates"
        hint = "copy them from a kubeconfig of the member; the key must not be encrypted"
        raise InputError(where, None, f"PEM that OpenSSL can read: {error}", hint) from error
