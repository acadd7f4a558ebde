"""The way in: which server, whom to trust, and who we are.

A kubeconfig is read by kubernetes_asyncio's loader (client certificates, tokens, token files, exec
plugins, OIDC); inside a cluster the service account's files are. Tokens are read again every
minute and whenever the server does not take one, so rotation needs no restart.
"""

import os
import re
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from stretto.base.errors import InputError
from stretto.stores.kube.oidc import OpenId

ACCOUNT_FOLDER: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its service account."""
_VALIDITY: Final = re.compile(
    rb"\x30[\x1e\x20\x22](?:\x17\x0d\d{12}Z|\x18\x0f\d{14}Z)(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)"
)
"""A certificate's validity in DER: from when until when, each with two digits of the year (until
2049) or four (RFC 5280, 4.1.2.5)."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class Login(msgspec.Struct, frozen=True):
    """Everything that a connection needs."""

    #: ``https://host:port``, perhaps with a path.
    server: str
    #: Trust and client certificate; ``None`` for plain HTTP on loopback.
    context: ssl.SSLContext | None
    #: Value of the ``Authorization`` header; empty for a client certificate alone.
    authorization: str = ""
    #: Name that the server's certificate must have, where it is not the host.
    server_name: str = ""
    #: Proxy to go through; empty for none.
    proxy: str = ""
    #: What we show and where it is from, for messages.
    shown: str = ""


DEFAULT_NAMESPACE: Final = "default"
"""The namespace of who names none."""


class Access(Protocol):
    """Who gives logins."""

    @property
    def namespace(self) -> str:
        """The namespace that is meant where none is named; known once there was a login."""
        ...

    async def login(self, *, renew: bool = False) -> Login:
        """The login as it is now; ``renew`` because the server did not take the last one.

        Raises:
            InputError: what it is read from cannot be used.
        """
        ...


class KubeconfigAccess:
    """A kubeconfig, by kubectl's rules: a file, or those that ``KUBECONFIG`` names."""

    def __init__(self, path: Path | None = None, context: str = "") -> None:
        """Read ``path``, or what kubectl would read; ``context`` instead of the current one."""
        named = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
        #: The files, as messages name them.
        self.where = str(path) if path is not None else named
        self._context = context or None
        self._loader: Any = None
        self._open_id = OpenId()

    @property
    def namespace(self) -> str:
        """The context's namespace."""
        if self._loader is None:
            return DEFAULT_NAMESPACE
        context = self._loader.current_context.get("context") or {}
        return str(context.get("namespace") or DEFAULT_NAMESPACE)

    async def login(self, *, renew: bool = False) -> Login:
        """Read what has changed; an exec plugin or OIDC provider is asked when its token is due."""
        found = SimpleNamespace(api_key={}, host="", ssl_ca_cert=None, verify_ssl=True)
        self._check_present()
        try:
            if self._loader is None or renew:
                self._loader = self._new_loader()
            await self._loader.load_and_set(found)
            return _login_of(found, self.where)
        except InputError:
            raise
        except Exception as error:  # the loader lets out whatever its parsers and plugins raise
            said = str(error) or type(error).__name__
            hint = "check it with: kubectl config view"
            raise InputError(f"kubeconfig {self.where}", None, f"a usable one: {said}", hint) from (
                error
            )

    def _new_loader(self) -> Any:
        # Imported here: it costs half a second, and only those who talk to a cluster need it.
        from kubernetes_asyncio.config import kube_config

        ours = self._open_id

        class Loader(kube_config.KubeConfigLoader):
            """The loader, but for OpenID Connect."""

            async def _load_oid_token(self) -> str:
                assert self._user is not None
                config = self._user["auth-provider"].value.get("config")
                self.token = f"Bearer {await ours.token(config or {})}"
                return str(self.token)

        merged = kube_config.KubeConfigMerger(self.where).config
        return Loader(merged, active_context=self._context)

    def _check_present(self) -> None:
        files = [each for each in self.where.split(os.pathsep) if each]
        if not any(Path(each).expanduser().exists() for each in files):
            hint = "name one with --kubeconfig or in KUBECONFIG"
            raise InputError("kubeconfig", self.where, "a file that exists", hint)


class AccountAccess:
    """The service account of the pod that we run in; the token file is rotated by the kubelet."""

    def __init__(self, folder: Path = ACCOUNT_FOLDER, server: str = "") -> None:
        """Read the account's folder; ``server`` instead of what the environment names."""
        self._folder = folder
        self._server = server or _server_of_environment()
        self._context: ssl.SSLContext | None = None

    @property
    def namespace(self) -> str:
        """The namespace of the pod that we run in."""
        try:
            return (self._folder / "namespace").read_text(encoding="utf-8").strip()
        except OSError:
            return DEFAULT_NAMESPACE

    async def login(self, *, renew: bool = False) -> Login:
        """Read the token again."""
        try:
            if self._context is None or renew:
                authority = str(self._folder / "ca.crt")
                self._context = ssl.create_default_context(cafile=authority)
            token = (self._folder / "token").read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            hint = "mount a service account into the pod, or name a kubeconfig"
            raise InputError("service account", str(self._folder), str(error), hint) from error
        shown = f"the token in {self._folder / 'token'}"
        return Login(self._server, self._context, f"Bearer {token}", shown=shown)


def access_from(path: Path | None, context: str = "") -> Access:
    """The way in that a user means: a kubeconfig if one is named, else the pod's own account.

    Outside a pod kubectl's own rules say which kubeconfig.
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


def _login_of(found: SimpleNamespace, where: str) -> Login:
    """What kubernetes_asyncio's loader has found in a kubeconfig, as a login."""
    server = str(found.host).rstrip("/")
    parts = urlsplit(server)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise InputError("kubeconfig: server", server or None, "an address such as https://host")
    authorization = str(found.api_key.get("BearerToken", ""))
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise InputError("kubeconfig: server", server, "https, because tokens travel along")
    return Login(
        server,
        _context_of(found) if parts.scheme == "https" else None,
        authorization,
        str(getattr(found, "tls_server_name", "") or ""),
        str(getattr(found, "proxy", "") or ""),
        f"{_shown(found, bool(authorization))} of kubeconfig {where}",
    )


def _shown(found: SimpleNamespace, has_token: bool) -> str:
    """What a kubeconfig lets us show; of a certificate also until when it is good."""
    certificate = getattr(found, "cert_file", None)
    if has_token or not certificate:
        return "the token" if has_token else "neither token nor client certificate"
    try:
        raw = ssl.PEM_cert_to_DER_cert(_first_pem(Path(certificate).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return "the client certificate"
    end = _VALIDITY.search(raw)
    if end is None:
        return "the client certificate"
    text = f"20{end[1].decode()}" if end[1] else end[2].decode()
    day, time = f"{text[:4]}-{text[4:6]}-{text[6:8]}", f"{text[8:10]}:{text[10:12]}:{text[12:14]}"
    return f"the client certificate (valid until {day}T{time}Z)"


def _first_pem(text: str) -> str:
    """The first certificate of a file: one's own, before those of who signed it."""
    start, end = text.index(ssl.PEM_HEADER), text.index(ssl.PEM_FOOTER)
    return text[start : end + len(ssl.PEM_FOOTER)]


def _context_of(found: SimpleNamespace) -> ssl.SSLContext:
    """Trust as the kubeconfig says; certificates are checked unless it says not to."""
    context = ssl.create_default_context(cafile=found.ssl_ca_cert)
    if not found.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = getattr(found, "cert_file", None)
    if certificate:
        context.load_cert_chain(certificate, getattr(found, "key_file", None))
    return context
