"""A control plane on loopback: etcd, an API server and optional programs.

TLS and RBAC are enabled, ports are chosen from free ones, and all files are in one temporary
folder. As a context manager it stops every program on exit, including Ctrl-C.
"""

import contextlib
import http.client
import shutil
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock, WallClock
from stretto.base.errors import StrettoError, TimeoutExpiredError, UnreachableError
from stretto_lab.control_plane.crds import CUSTOM, PATH, definition
from stretto_lab.control_plane.credentials import ADMIN, CertificateUser, Credentials
from stretto_lab.control_plane.parts import ServerProcess, free_ports
from stretto_lab.control_plane.stages import stages
from stretto_lab.control_plane.tools import build, path_of

READY_WITHIN: Final = 300.0
"""Seconds within which the API server must be ready on a busy machine; an idle one needs 1.4."""
_POLL: Final = 0.05
_ANSWER: Final = 30.0
"""Timeout of one request in seconds, sufficient for a busy machine."""
CORE: Final = ("etcd", "kube-apiserver")
"""Programs of every control plane."""
OPTIONAL: Final = ("kube-controller-manager", "kube-scheduler", "kwok")
"""Optional programs."""


class ServerAnswer(NamedTuple):
    """A response of the API server."""

    #: HTTP status.
    status: int
    #: Body.
    body: bytes


class _AuditUser(msgspec.Struct, frozen=True):
    """The user of a request."""

    #: The name.
    username: str = ""


class _AuditObject(msgspec.Struct, frozen=True):
    """The object of a request."""

    #: Resource in the plural.
    resource: str = ""
    #: Subresource; empty for none.
    subresource: str = ""
    #: Name of the object.
    name: str = ""


class _AuditStatus(msgspec.Struct, frozen=True):
    """The response to a request."""

    #: HTTP status.
    code: int = 0


class AuditedCall(msgspec.Struct, frozen=True, rename="camel"):
    """One request of the audit log."""

    #: Verb, as in RBAC.
    verb: str
    #: User.
    user: _AuditUser
    #: Object.
    object_ref: _AuditObject = _AuditObject()
    #: Response.
    response_status: _AuditStatus = _AuditStatus()

    @property
    def what(self) -> str:
        """Verb and resource, such as ``create pods/binding``."""
        about = self.object_ref
        return f"{self.verb} {about.resource}" + (f"/{about.subresource}" * bool(about.subresource))


_AUDIT: Final = msgspec.json.Decoder(AuditedCall)
_AUDIT_POLICY: Final = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Metadata
"""


class ControlPlaneConfig(msgspec.Struct, frozen=True):
    """Programs, users and flags of a control plane."""

    #: Programs in addition to ``CORE``, from ``OPTIONAL``.
    parts: tuple[str, ...] = ()
    #: Users in addition to the administrator; RBAC limits them.
    users: tuple[CertificateUser, ...] = ()
    #: True if requests are logged for ``ControlPlane.audit``.
    audited: bool = False
    #: Additional flags of the API server.
    flags: tuple[str, ...] = ()
    #: Additional flags of kube-scheduler.
    scheduler_flags: tuple[str, ...] = ()
    #: Controllers of kube-controller-manager, in the form of its flag.
    controllers: str = "*"


class ControlPlane:
    """The programs by name in ``parts``."""

    def __init__(
        self,
        config: ControlPlaneConfig = ControlPlaneConfig(),  # noqa: B008  (frozen)
        clock: Clock | None = None,
    ) -> None:
        """Prepare folders, ports and secrets; build missing programs."""
        self._config = config
        self._clock = clock or WallClock()
        self._folder = Path(tempfile.mkdtemp(prefix="stretto-kube-"))
        try:
            build((*CORE, *config.parts))
            #: Certificates, tokens and kubeconfigs.
            self.credentials = Credentials(self._folder / "secrets", config.users)
            self._ports = free_ports(6)
            #: Address of the API server.
            self.server = f"https://127.0.0.1:{self._ports[2]}"
            #: Kubeconfig of the administrator.
            self.kubeconfig = self.kubeconfig_of(ADMIN)
            #: All programs by name, in start order.
            self.parts: dict[str, ServerProcess] = {}
            for name in (*CORE, *config.parts):
                self._add(name, self._command(name))
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, name: str) -> ServerProcess:
        """One program by name."""
        return self.parts[name]

    # ------------------------------------------------------------ all together

    def start(self) -> None:
        """Start all programs and wait until the API server is ready."""
        try:
            for name, part in self.parts.items():
                part.start()
                if name == "kube-apiserver":
                    self.wait_ready()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop all programs in reverse order and remove the folder."""
        for part in reversed(self.parts.values()):
            with contextlib.suppress(OSError):
                part.kill() if part.name == "etcd" else part.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def restart(self, name: str, *, kill: bool = False) -> None:
        """Stop or kill one program and start it again; wait for the API server."""
        part = self.parts[name]
        part.kill() if kill else part.stop()
        part.start()
        if name in CORE:
            self.wait_ready()

    def wait_ready(self, within: float = READY_WITHIN) -> None:
        """Wait until the API server is ready.

        Raises:
            TimeoutExpiredError: the API server is not ready in time.
            StrettoError: etcd or the API server has exited; the message contains the end of its
                log.
        """
        until = self._clock.monotonic() + within
        while not self.is_ready():
            for name in CORE:
                self.parts[name].check()
            if self._clock.monotonic() > until:
                log = self.parts["kube-apiserver"].log_tail()
                raise TimeoutExpiredError(
                    "starting kube-apiserver", f"last lines of its log:\n{log}"
                )
            self._clock.sleep(_POLL)

    def is_ready(self) -> bool:
        """True if the API server reports that it is ready."""
        try:
            return self.send("GET", "/readyz").status == 200
        except UnreachableError:
            return False

    def send(self, method: str, path: str, body: bytes = b"", user: str = ADMIN) -> ServerAnswer:
        """Send one request as a user, for operations that a store does not support.

        Raises:
            UnreachableError: the API server does not respond.
        """
        trust = ssl.create_default_context(cafile=str(self.credentials.ca.cert))
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._ports[2], timeout=_ANSWER, context=trust
        )
        kind = "merge-patch+json" if method == "PATCH" else "json"
        token = f"Bearer {self.credentials.tokens[user]}"
        headers = {"Authorization": token, "Content-Type": f"application/{kind}"}
        try:
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return ServerAnswer(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(self.server, str(error)) from error
        finally:
            connection.close()

    def install(self, kinds: Sequence[Kind] = CUSTOM) -> None:
        """Create CRDs and wait until the API server serves them."""
        for kind in kinds:
            self.send("POST", PATH, definition(kind))
        until = self._clock.monotonic() + READY_WITHIN
        for kind in kinds:
            while self.send("GET", f"/apis/{kind.api_version}/{kind.plural}").status != 200:
                if self._clock.monotonic() > until:
                    raise TimeoutExpiredError(f"defining {kind.resource}")
                self._clock.sleep(_POLL)

    # ------------------------------------------------------------ users

    def kubeconfig_of(self, user: str, server: str = "") -> Path:
        """The kubeconfig of a user, optionally with another server address."""
        token = self.credentials.tokens.get(user)
        if token is None:
            known = ", ".join(self.credentials.tokens)
            raise StrettoError(f"unknown user {user!r}; known: {known}")
        name = f"{user}-{server.rpartition(':')[2]}" if server else user
        return self.credentials.kubeconfig(name, server or self.server, {"token": token})

    def audit(self, user: str) -> list[AuditedCall]:
        """All requests of a user so far, in order (requires ``audited``)."""
        path = self._folder / "audit.log"
        text = path.read_bytes() if path.exists() else b""
        lines = text.rpartition(b"\n")[0].splitlines()  # the last line may be incomplete
        return [call for line in lines if (call := _AUDIT.decode(line)).user.username == user]

    @property
    def port(self) -> int:
        """The API server's port."""
        return self._ports[2]

    # ------------------------------------------------------------ commands

    def _add(self, name: str, command: list[str]) -> None:
        self.parts[name] = ServerProcess(name, command, self._folder / f"{name}.log")

    def _command(self, name: str) -> list[str]:
        return [str(path_of(name)), *_FLAGS[name](self)]

    def _etcd(self) -> list[str]:
        client, peer = (f"http://127.0.0.1:{port}" for port in self._ports[:2])
        return [
            f"--data-dir={self._folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
        ]

    def _api_server(self) -> list[str]:
        secrets = self.credentials
        return [
            f"--etcd-servers=http://127.0.0.1:{self._ports[0]}",
            f"--secure-port={self._ports[2]}",
            "--bind-address=127.0.0.1",
            f"--tls-cert-file={secrets.server.cert}",
            f"--tls-private-key-file={secrets.server.key}",
            f"--client-ca-file={secrets.ca.cert}",
            f"--token-auth-file={secrets.token_file}",
            f"--service-account-key-file={secrets.accounts}",
            f"--service-account-signing-key-file={secrets.accounts}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
            *self._audit_flags(),
            *self._config.flags,
        ]

    def _audit_flags(self) -> list[str]:
        if not self._config.audited:
            return []
        policy = self._folder / "audit-policy.yaml"
        policy.write_text(_AUDIT_POLICY, encoding="utf-8")
        return [f"--audit-policy-file={policy}", f"--audit-log-path={self._folder / 'audit.log'}"]

    def _controller_manager(self) -> list[str]:
        return [
            f"--kubeconfig={self.kubeconfig}",
            f"--service-account-private-key-file={self.credentials.accounts}",
            f"--root-ca-file={self.credentials.ca.cert}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._ports[3]}",
            f"--controllers={self._config.controllers}",
            "--leader-elect=false",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ]

    def _scheduler(self) -> list[str]:
        return [
            f"--kubeconfig={self.kubeconfig}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._ports[4]}",
            "--leader-elect=false",
            "--kube-api-qps=5000",
            "--kube-api-burst=5000",
            *self._config.scheduler_flags,
        ]

    def _kwok(self) -> list[str]:
        config = self._folder / "stages.yaml"
        config.write_bytes(stages())
        return [
            f"--kubeconfig={self.kubeconfig}",
            f"--config={config}",
            "--node-lease-duration-seconds=40",
            "--manage-all-nodes=true",
            f"--server-address=127.0.0.1:{self._ports[5]}",
        ]


_FLAGS: Final = {
    "etcd": ControlPlane._etcd,  # noqa: SLF001
    "kube-apiserver": ControlPlane._api_server,  # noqa: SLF001
    "kube-controller-manager": ControlPlane._controller_manager,  # noqa: SLF001
    "kube-scheduler": ControlPlane._scheduler,  # noqa: SLF001
    "kwok": ControlPlane._kwok,  # noqa: SLF001
}
"""Methods that return the flags, by program."""
