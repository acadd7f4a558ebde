"""A control plane on loopback: etcd and an API server, and what else is asked for.

TLS and RBAC are on, ports are free ones, everything lives in one folder and goes with it. It is a
context manager; leaving it, by Ctrl-C too, stops every program.
"""

import contextlib
import http.client
import shutil
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
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

READY_WITHIN: Final = 60.0
"""Seconds for the API server to become ready: 1.4 on an idle machine."""
_POLL: Final = 0.05
_ANSWER: Final = 30.0
"""Seconds for one answer, however busy the machine is."""
CORE: Final = ("etcd", "kube-apiserver")
"""What every control plane runs."""
OPTIONAL: Final = ("kube-controller-manager", "kube-scheduler", "kwok")
"""What it may run beside."""


class ServerAnswer(NamedTuple):
    """An answer of the API server."""

    #: HTTP status.
    status: int
    #: Body.
    body: bytes


class _AuditUser(msgspec.Struct, frozen=True):
    """Who made a request."""

    #: The name.
    username: str = ""


class _AuditObject(msgspec.Struct, frozen=True):
    """What a request was about."""

    #: Resource in the plural.
    resource: str = ""
    #: Subresource; empty for none.
    subresource: str = ""
    #: Name of the object.
    name: str = ""


class _AuditStatus(msgspec.Struct, frozen=True):
    """How a request ended."""

    #: HTTP status.
    code: int = 0


class AuditedCall(msgspec.Struct, frozen=True, rename="camel"):
    """One request as the API server has noted it."""

    #: Verb, as RBAC says it.
    verb: str
    #: Who made it.
    user: _AuditUser
    #: What it was about.
    object_ref: _AuditObject = _AuditObject()
    #: What the server answered.
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
    """What a control plane is made of."""

    #: Programs beside etcd and the API server, of ``OPTIONAL``.
    parts: tuple[str, ...] = ()
    #: Users beside the administrator; they may do what RBAC lets them.
    users: tuple[CertificateUser, ...] = ()
    #: Whether every request is noted, for ``ControlPlane.audit``.
    audited: bool = False
    #: More flags for the API server.
    flags: tuple[str, ...] = ()
    #: More flags for kube-scheduler.
    scheduler_flags: tuple[str, ...] = ()


class ControlPlane:
    """The running programs, each under its name in ``parts``."""

    def __init__(
        self,
        config: ControlPlaneConfig = ControlPlaneConfig(),  # noqa: B008  (frozen)
        clock: Clock | None = None,
    ) -> None:
        """Prepare folders, ports and secrets; programs that are missing are built."""
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
            #: Every program by its name, in the order in which they start.
            self.parts: dict[str, ServerProcess] = {}
            for name in (*CORE, *config.parts):
                self._add(name, self._command(name))
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __getitem__(self, name: str) -> ServerProcess:
        """One program by its name."""
        return self.parts[name]

    # ------------------------------------------------------------ all together

    def start(self) -> None:
        """Start everything and wait until the API server is ready."""
        try:
            for name, part in self.parts.items():
                part.start()
                if name == "kube-apiserver":
                    self.wait_ready()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop everything, last started first, and remove the folder."""
        for part in reversed(self.parts.values()):
            with contextlib.suppress(OSError):
                part.kill() if part.name == "etcd" else part.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def restart(self, name: str, *, kill: bool = False) -> None:
        """End one program, politely or not, and start it again; waits for the API server."""
        part = self.parts[name]
        part.kill() if kill else part.stop()
        part.start()
        if name in CORE:
            self.wait_ready()

    def wait_ready(self, within: float = READY_WITHIN) -> None:
        """Wait until the API server says that it is ready.

        Raises:
            TimeoutExpiredError: it does not in time.
            StrettoError: etcd or the API server has ended; what it said is in the message.
        """
        until = self._clock.monotonic() + within
        while not self.is_ready():
            for name in CORE:
                self.parts[name].check()
            if self._clock.monotonic() > until:
                said = self.parts["kube-apiserver"].said()
                raise TimeoutExpiredError("starting kube-apiserver", f"it said:\n{said}")
            self._clock.sleep(_POLL)

    def is_ready(self) -> bool:
        """Whether the API server answers that it is ready."""
        try:
            return self.ask("GET", "/readyz").status == 200
        except UnreachableError:
            return False

    def ask(self, method: str, path: str, body: bytes = b"", user: str = ADMIN) -> ServerAnswer:
        """One request to the API server as a user, for whatever a store does not do.

        Raises:
            UnreachableError: it does not answer.
        """
        trust = ssl.create_default_context(cafile=str(self.credentials.ca.cert))
        line = http.client.HTTPSConnection(
            "127.0.0.1", self._ports[2], timeout=_ANSWER, context=trust
        )
        kind = "merge-patch+json" if method == "PATCH" else "json"
        token = f"Bearer {self.credentials.tokens[user]}"
        headers = {"Authorization": token, "Content-Type": f"application/{kind}"}
        try:
            line.request(method, path, body or None, headers)
            answer = line.getresponse()
            return ServerAnswer(answer.status, answer.read())
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(self.server, str(error)) from error
        finally:
            line.close()

    def install(self, kinds: Sequence[Kind] = CUSTOM) -> None:
        """Define custom kinds and wait until the API server serves them."""
        for kind in kinds:
            self.ask("POST", PATH, definition(kind))
        until = self._clock.monotonic() + READY_WITHIN
        for kind in kinds:
            while self.ask("GET", f"/apis/{kind.api_version}/{kind.plural}").status != 200:
                if self._clock.monotonic() > until:
                    raise TimeoutExpiredError(f"defining {kind.resource}")
                self._clock.sleep(_POLL)

    # ------------------------------------------------------------ who may log in

    def kubeconfig_of(self, user: str, server: str = "") -> Path:
        """The kubeconfig of a user with a token, at another address than the server's if given."""
        token = self.credentials.tokens.get(user)
        if token is None:
            known = ", ".join(self.credentials.tokens)
            raise StrettoError(f"no user {user!r} here; known: {known}")
        name = f"{user}-{server.rpartition(':')[2]}" if server else user
        return self.credentials.kubeconfig(name, server or self.server, {"token": token})

    def audit(self, user: str) -> list[AuditedCall]:
        """Every request that a user has made so far, in order (``audited`` must be set)."""
        path = self._folder / "audit.log"
        text = path.read_bytes() if path.exists() else b""
        lines = text.rpartition(b"\n")[0].splitlines()  # the server may be writing the last one
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
"""Which method gives a program its flags."""
