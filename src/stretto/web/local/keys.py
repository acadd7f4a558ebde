"""The keys of a local server: its authority, its certificate, and its tokens."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stretto.base.errors import InputError
from stretto.base.tokens import new_token
from stretto.serving.certificates import CertificateSubject, Use, write_key, write_pair
from stretto.serving.configuration import TlsFiles
from stretto.web.api.authn.users import MASTERS, TokenTable, User

_AUTHORITY_DAYS: Final = 3650
_SERVING_DAYS: Final = 365
"""Validity of the serving certificate in days; every start replaces it."""
_PROXY_HEADERS: Final = {
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-username-headers": '["X-Remote-User"]',
}
"""Name and headers of a proxy in front of API servers, as usual in Kubernetes."""
_HOSTS: Final = (
    "127.0.0.1",
    "::1",
    "localhost",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
"""Names by which clients reach the server."""


@dataclass(frozen=True)
class PemPair:
    """The files of a certificate and its key."""

    #: PEM certificate.
    cert: Path
    #: PEM key.
    key: Path


@dataclass(frozen=True)
class ServerKeys:
    """A folder, for its owner only, with the keys of a server."""

    #: The folder.
    folder: Path
    #: Token of the administrator.
    token: str
    #: Token of the dashboard: open pages reconnect to a server that starts again.
    dashboard_token: str

    @property
    def authority(self) -> PemPair:
        """The authority of the certificates of the server and of clients."""
        return _pair(self.folder, "ca")

    @property
    def serving(self) -> PemPair:
        """The certificate of the server."""
        return _pair(self.folder, "server")

    @property
    def proxies(self) -> PemPair:
        """The authority of proxies that state the users of requests to other API servers."""
        return _pair(self.folder, "front-proxy-ca")

    @property
    def accounts(self) -> Path:
        """The key that signs tokens of ServiceAccounts."""
        return self.folder / "accounts.key"

    @property
    def administrator(self) -> TokenTable:
        """The token and its user."""
        return TokenTable({self.token: User("kubernetes-admin", "", (MASTERS,))})

    @property
    def tls(self) -> TlsFiles:
        """TLS files: the server's certificate, and the authority of clients' certificates."""
        return TlsFiles(self.serving.cert, self.serving.key, self.authority.cert)

    def authentication(self) -> dict[str, str]:
        """Return how other servers authenticate clients, as kube-apiserver publishes it."""
        return {
            "client-ca-file": self.authority.cert.read_text(encoding="ascii"),
            "requestheader-client-ca-file": self.proxies.cert.read_text(encoding="ascii"),
            **_PROXY_HEADERS,
        }


def open_keys(folder: Path) -> ServerKeys:
    """Return the keys in a folder; create missing ones.

    Raises:
        InputError: the folder cannot be written, or a file in it is damaged.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        keys = ServerKeys(folder, _token(folder / "token"), _token(folder / "dashboard-token"))
        _make_authority(keys.authority, "stretto")
        _make_authority(keys.proxies, "stretto-front-proxy")
        served = CertificateSubject(
            name="stretto-api", hosts=_HOSTS, use=Use.SERVER, days=_SERVING_DAYS
        )
        write_pair(keys.serving, served, keys.authority)
        if not keys.accounts.exists():
            write_key(keys.accounts)
    except OSError as error:
        expected = f"a folder that can be read and written ({error.strerror})"
        raise InputError("--keys", str(folder), expected, "name another folder") from error
    except ValueError as error:
        expected = f"a folder of intact keys ({error})"
        raise InputError("--keys", str(folder), expected, "delete it to get new keys") from error
    return keys


def _make_authority(pair: PemPair, name: str) -> None:
    """Create an authority if one of its files is missing."""
    if not (pair.cert.exists() and pair.key.exists()):
        write_pair(pair, CertificateSubject(name=name, is_authority=True, days=_AUTHORITY_DAYS))


def _pair(folder: Path, name: str) -> PemPair:
    return PemPair(folder / f"{name}.crt", folder / f"{name}.key")


def _token(path: Path) -> str:
    with suppress(FileNotFoundError):
        found = path.read_text().strip()
        if found:
            return found
    made = new_token()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(made)
    return made
