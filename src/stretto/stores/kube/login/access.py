"""Login: the server, its trust and the identity of the client.

A kubeconfig contains a client certificate, a token, a token file, an exec plugin or OIDC; a pod has
the files of its service account. Token and CA files are read again every minute. Everything is read
again if the server rejects a token or has an untrusted certificate. Therefore a rotation needs no
restart.
"""

import base64
import os
import re
import ssl
from pathlib import Path
from typing import Final, NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

import msgspec

from stretto.api.wire.kinds import DEFAULT_NAMESPACE
from stretto.base.errors import InputError
from stretto.stores.kube.login.exec_plugins import ExecPluginRunner
from stretto.stores.kube.login.kubeconfig import Kubeconfig, content_of, files_of, read_kubeconfig
from stretto.stores.kube.login.oidc import OidcTokens
from stretto.stores.kube.login.trust import trusting_context, verifying_context

ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Folder of the service account in a pod."""
_VALIDITY: Final = re.compile(
    rb"\x30[\x1e\x20\x22](?:\x17\x0d\d{12}Z|\x18\x0f\d{14}Z)(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)"
)
"""Pattern of the validity of a certificate in DER: start and end.

Each year has two digits (until 2049) or four (RFC 5280, 4.1.2.5).
"""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class Login(msgspec.Struct, frozen=True):
    """Server, trust and credentials of a connection."""

    #: ``https://host:port``, optionally with a path.
    server: str
    #: Trust and client certificate; ``None`` for plain HTTP on loopback.
    context: ssl.SSLContext | None
    #: Value of the ``Authorization`` header; empty with a client certificate only.
    authorization: str = ""
    #: Server name of the certificate, if it differs from the host.
    server_name: str = ""
    #: Proxy; empty for none.
    proxy: str = ""
    #: Used credentials and their source, for messages.
    shown: str = ""

    def __post_init__(self) -> None:
        if not self.authorization.isascii() or not self.authorization.isprintable():
            where = self.shown or "the token"
            raise InputError(where, None, "printable ASCII characters without line breaks")


class LoginSource(Protocol):
    """A source of logins."""

    @property
    def namespace(self) -> str:
        """The default namespace; known after the first login."""
        ...

    async def login(self, *, renew: bool = False) -> Login:
        """Return the current login.

        ``renew`` if the server rejected the last one or is not trusted.

        Raises:
            InputError: the credentials cannot be used.
        """
        ...


class FixedLogin:
    """A login that never changes."""

    #: The default namespace.
    namespace = DEFAULT_NAMESPACE

    def __init__(self, login: Login) -> None:
        """Always use this login."""
        self._login = login

    async def login(self, *, renew: bool = False) -> Login:
        """The login."""
        del renew
        return self._login


class _UserCredentials(NamedTuple):
    """Credentials of a user."""

    #: Value of the ``Authorization`` header; empty for none.
    authorization: str = ""
    #: Client certificate (PEM); empty for none.
    cert: bytes = b""
    #: Its key (PEM); empty if it is in the certificate file.
    key: bytes = b""


class _ServerTrust(NamedTuple):
    """Inputs of a TLS context."""

    #: Certificate authorities (PEM); empty for those of the system.
    authority: bytes
    #: Client certificate (PEM).
    cert: bytes
    #: Its key (PEM).
    key: bytes
    #: True if the server's certificate is not verified.
    is_blind: bool


def _named() -> str:
    """The files that kubectl reads; ``~`` stays if the home folder is unknown."""
    return os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")


class KubeconfigAccess:
    """Logins from a kubeconfig, by kubectl's rules: one file, or those in ``KUBECONFIG``."""

    def __init__(self, path: Path | None = None, context: str = "") -> None:
        """Read ``path``, or the files that kubectl reads.

        ``context`` replaces the current context.
        """
        #: The files, for messages.
        self.where = str(path) if path is not None else _named()
        self._context = context
        self._found: Kubeconfig | None = None
        self._open_id = OidcTokens()
        self._plugins = ExecPluginRunner()
        self._trust: tuple[_ServerTrust, ssl.SSLContext] | None = None

    @property
    def namespace(self) -> str:
        """The context's namespace."""
        named = self._found.context.namespace if self._found is not None else ""
        return named or DEFAULT_NAMESPACE

    async def login(self, *, renew: bool = False) -> Login:
        """Read changed files.

        Run an exec plugin or query an OIDC issuer if its token has expired.
        """
        found = self._found
        if found is None or renew:
            self._found = found = self._read()
        cluster, server = found.cluster, safe_address(found.cluster.server, "kubeconfig: server")
        shown = await self._shown(found, renew=renew)
        context = self._context_of(found, shown) if server.startswith("https:") else None
        credential = f"{_shown_credentials(shown)} of kubeconfig {self.where}"
        _check_host("kubeconfig: tls-server-name", cluster.tls_server_name)
        proxy = _usable_proxy(cluster.proxy_url)
        words = shown.authorization, cluster.tls_server_name, proxy, credential
        return Login(server, context, *words)

    def _read(self) -> Kubeconfig:
        files = files_of(self.where)
        if not files:
            hint = "select one with --kubeconfig or KUBECONFIG"
            raise InputError("kubeconfig", self.where, "a file that exists", hint)
        return read_kubeconfig(self.where, files, self._context)

    async def _shown(self, found: Kubeconfig, *, renew: bool) -> _UserCredentials:
        """Return the credentials of the user, by the first configured method."""
        user, folder = found.user, found.user_folder
        if user is None:
            return _UserCredentials()
        cert = content_of(
            user.client_certificate_data, user.client_certificate, folder, "client-certificate"
        )
        key = content_of(user.client_key_data, user.client_key, folder, "client-key")
        provider = user.auth_provider
        if provider is not None and provider.name != "oidc":
            hint = "use the exec plugin that replaces it"
            raise InputError("kubeconfig: auth-provider", provider.name, "oidc", hint)
        if provider is not None:
            return _UserCredentials(
                f"Bearer {await self._open_id.token(provider.config)}", cert, key
            )
        if user.exec is not None:
            credential = await self._plugins.credential(user.exec, found, renew=renew)
            own = credential.client_certificate_data.encode(), credential.client_key_data.encode()
            pair = own if all(own) else (cert, key)
            return _UserCredentials(f"Bearer {credential.token}" if credential.token else "", *pair)
        token = content_of("", user.token_file, folder, "tokenFile").decode("ascii", "replace")
        if text := token.strip() or user.token:
            return _UserCredentials(f"Bearer {text}", cert, key)
        if user.username:
            login = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
            return _UserCredentials(f"Basic {login}", cert, key)
        return _UserCredentials("", cert, key)

    def _context_of(self, found: Kubeconfig, shown: _UserCredentials) -> ssl.SSLContext:
        """Return the TLS context of the kubeconfig; an unchanged context keeps its connections."""
        cluster = found.cluster
        authority = content_of(
            cluster.certificate_authority_data,
            cluster.certificate_authority,
            found.cluster_folder,
            "certificate-authority",
        )
        trust = _ServerTrust(authority, shown.cert, shown.key, cluster.insecure_skip_tls_verify)
        if self._trust is None or self._trust[0] != trust:
            self._trust = trust, _trusting(trust)
        return self._trust[1]


class AccountAccess:
    """Logins from the service account of this pod; the kubelet rotates its files."""

    def __init__(self, folder: Path = ACCOUNT_FOLDER, server: str = "") -> None:
        """Read the folder of the account; ``server`` replaces the address in the environment."""
        self._folder = folder
        self._server = server or _server_of_environment()
        self._authority = b""
        self._context: ssl.SSLContext | None = None

    @property
    def namespace(self) -> str:
        """The namespace of this pod."""
        try:
            return (self._folder / "namespace").read_text(encoding="utf-8").strip()
        except OSError:
            return DEFAULT_NAMESPACE

    async def login(self, *, renew: bool = False) -> Login:
        """Read the files again; unchanged files keep the context and its connections."""
        try:
            file = self._folder / "ca.crt"
            authority = file.read_bytes()
            if self._context is None or authority != self._authority:
                self._context = verifying_context(cafile=str(file))
                self._authority = authority
            token = (self._folder / "token").read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            hint = "mount a service account into the pod, or name a kubeconfig"
            raise InputError("service account", str(self._folder), str(error), hint) from error
        shown = f"the token in {self._folder / 'token'}"
        return Login(self._server, self._context, f"Bearer {token}", shown=shown)


def access_from(path: Path | None, context: str = "") -> LoginSource:
    """Return a login source: the kubeconfig if given, otherwise the pod's service account.

    Outside a pod, kubectl's rules select the kubeconfig.
    """
    if path is None and not os.environ.get("KUBECONFIG") and (ACCOUNT_FOLDER / "token").exists():
        return AccountAccess()
    return KubeconfigAccess(path, context)


def _server_of_environment() -> str:
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        hint = "name a kubeconfig"
        raise InputError("KUBERNETES_SERVICE_HOST", host or None, "set, as in every pod", hint)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def safe_address(server: str, where: str) -> str:
    """Return the address of a server if it is safe for tokens: HTTPS, or HTTP on this machine.

    Args:
        server: the address.
        where: the field with the address, for messages.

    Raises:
        InputError: the address is malformed, contains a login, or is plain HTTP to another machine.
    """
    address = server.rstrip("/")
    expected = "an address such as https://host:6443"
    parts = _parts_of(where, address, expected)
    if "@" in parts.netloc:  # otherwise every message would contain the login
        hint = "write the credentials into their own fields"
        raise InputError(where, None, "an address without a login", hint)
    if parts.scheme not in ("https", "http") or not _is_plain(address):
        raise InputError(where, server, expected)
    _check_host(where, parts.hostname or "")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise InputError(where, server, "https, because the request contains tokens")
    return parts.scheme + address[len(parts.scheme) :]  # HTTPS: is https:


def _usable_proxy(proxy: str) -> str:
    """Return the address of a proxy, if it is supported; messages never contain its password."""
    where, expected = "kubeconfig: proxy-url", "an address such as http://host:3128"
    if proxy and _parts_of(where, proxy, expected).scheme not in ("https", "http"):
        raise InputError(where, None, expected, "no other type of proxy is supported")
    return proxy


def _parts_of(where: str, address: str, expected: str) -> SplitResult:
    """The parts of an address with a host and an optional port."""
    shown = address if address and "@" not in address else None
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise InputError(where, shown, expected, str(error)) from error
    if not is_whole:
        raise InputError(where, shown, expected)
    return parts


def _check_host(where: str, name: str) -> None:
    """Reject a host name that no resolver accepts."""
    try:
        name.encode("idna")
    except UnicodeError as error:
        expected = "a host whose parts have 1 to 63 characters"
        raise InputError(where, name, expected) from error


def _is_plain(address: str) -> bool:
    """Return whether an address is valid in a request."""
    return address.isascii() and address.isprintable() and " " not in address


def _shown_credentials(shown: _UserCredentials) -> str:
    """Description of the credentials for messages, with the expiry of a certificate."""
    if shown.authorization or not shown.cert:
        return "the token" if shown.authorization else "neither token nor client certificate"
    try:
        raw = ssl.PEM_cert_to_DER_cert(_first_pem(shown.cert.decode("ascii")))
    except ValueError:
        return "the client certificate"
    end = _VALIDITY.search(raw)
    if end is None:
        return "the client certificate"
    text = f"20{end[1].decode()}" if end[1] else end[2].decode()
    day, time = f"{text[:4]}-{text[4:6]}-{text[6:8]}", f"{text[8:10]}:{text[10:12]}:{text[12:14]}"
    return f"the client certificate (valid until {day}T{time}Z)"


def _first_pem(text: str) -> str:
    """Return the first certificate of a file: the client's own, before those of its issuers."""
    start, end = text.index(ssl.PEM_HEADER), text.index(ssl.PEM_FOOTER)
    return text[start : end + len(ssl.PEM_FOOTER)]


def _trusting(trust: _ServerTrust) -> ssl.SSLContext:
    """Create a TLS context that verifies certificates, unless the kubeconfig disables it."""
    try:
        return trusting_context(trust.authority, trust.cert, trust.key, is_blind=trust.is_blind)
    except (OSError, ValueError) as error:
        where = "kubeconfig: certificates"
        hint = "check it with: kubectl config view (a key must not be locked by a passphrase)"
        raise InputError(where, None, f"a usable one: {error}", hint) from error
