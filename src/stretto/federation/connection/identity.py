"""Check of the credentials that identify the federation to a member."""

from stretto.base.errors import InputError
from stretto.federation.connection.protocol import ClusterCredentials


def check_identity(credentials: ClusterCredentials) -> None:
    """Refuse credentials without a client certificate and without a token.

    Raises:
        InputError: the secret has neither.
    """
    has_certificate = bool(credentials.certificate and credentials.key)
    if has_certificate or credentials.bootstrap_token or credentials.account_token:
        return
    where = f"secret {credentials.where}: data" if credentials.where else "spec.secretRef.name"
    expected = "client-certificate-data and client-key-data, or bootstrap-token-data"
    raise InputError(where, None, expected, "add them, base64-encoded, to a secret of the cluster")
