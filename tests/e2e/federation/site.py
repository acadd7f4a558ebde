"""A real host, real members behind proxies with faults, and the controllers as a process."""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import CONFIG_MAP, DEPLOYMENT, NAMESPACE, POD, Kind
from stretto.base.errors import UnreachableError
from stretto.federation import names
from stretto.federation.objects.membership.kinds import SECRET
from stretto.stores.kube.paths import collection_path, object_path
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import ADMIN, CertificateUser
from stretto_lab.control_plane.faulty_wire import FaultyWire
from tests.e2e.daemon import FEDERATION, Daemon, kubectl, rights_settle

Fields = dict[str, Any]

ROOT: Final = Path(__file__).resolve().parents[3]
DEPLOY: Final = ROOT / "deploy" / "federation"
SYSTEM: Final = names.SYSTEM_NAMESPACE
SPACE: Final = "shop"
USER: Final = "stretto-federation"
WITHIN: Final = 180.0
"""Timeout of any wait in seconds; a limit of the tests, not of the product."""
QUICK: Final = ("--health-period", "2", "--health-threshold", "4", "--lease-duration", "8")
WORKS: Final = ("kube-controller-manager", "kube-scheduler", "kwok")
"""Programs of a member that runs pods."""


class Member:
    """A member cluster, reached through a proxy."""

    def __init__(self, name: str, plane: ControlPlane) -> None:
        self.name, self.plane = name, plane
        self.wire = FaultyWire(plane.port)

    def pause(self) -> None:
        """Stop its API server: connections stay open without replies."""
        self.plane["kube-apiserver"].pause()

    def resume(self) -> None:
        """Let it answer again."""
        self.plane["kube-apiserver"].resume()

    def replicas(self, name: str) -> int | None:
        """Replicas of a Deployment; ``None`` without one."""
        found = shown(self.plane, DEPLOYMENT, name)
        return None if found is None else int(found["spec"]["replicas"])


class FleetSite:
    """A host with controllers, and members by name."""

    def __init__(self, host: ControlPlane, members: Mapping[str, ControlPlane], log: Path) -> None:
        self.host = host
        self.members = {name: Member(name, plane) for name, plane in members.items()}
        self._log = log
        self.stack = ExitStack()
        self.daemons: list[Daemon] = []

    def __enter__(self) -> Self:
        kubectl(self.host, "apply", "-f", str(DEPLOY / "crds"))
        for name in ("queues", "podgroups"):
            kubectl(self.host, "apply", "-f", str(ROOT / "deploy" / "crds" / f"{name}.yaml"))
        words = ("--for=condition=Established", "crd", "--all", f"--timeout={WITHIN:.0f}s")
        kubectl(self.host, "wait", *words)
        kubectl(self.host, "apply", "-f", str(DEPLOY / "rbac.yaml"))
        put(self.host, NAMESPACE, SPACE)
        rights_settle(self.host)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stack.close()
        for member in self.members.values():
            member.resume()
            member.wire.close()

    def daemon(self, *more: str, name: str = "controllers", lease: str = "") -> Daemon:
        """Start a process with controllers; it has the shipped rights only.

        The name is that of its log, and of its lease unless ``lease`` is another name.
        """
        config = self.host.kubeconfig_of(USER)
        words = ("--lease", f"{SYSTEM}/{lease or name}")
        log = self._log / name
        made = Daemon(config, log, *QUICK, *words, *more, verb=FEDERATION)
        self.daemons.append(made)
        return self.stack.enter_context(made)

    def join(self, name: str, *, account: bool = True, **more: Any) -> None:
        """Create the secret and the FederatedCluster of a member."""
        member = self.members[name]
        credentials = member.plane.credentials
        data = {
            "certificate-authority-data": encoded(credentials.ca.cert.read_bytes()),
            "bootstrap-token-data": encoded(credentials.tokens[ADMIN].encode()),
        }
        put(self.host, SECRET, name, metadata={"namespace": SYSTEM}, data=data)
        spec = {
            "apiEndpoint": member.wire.server,
            "secretRef": {"name": name},
            "useServiceAccount": account,
        }
        put(self.host, FEDERATED_CLUSTER.kind, name, spec=spec, **more)

    def is_ready(self, name: str) -> bool:
        """Return whether a cluster is ready."""
        return self.condition(name, "Ready") == "True"

    def condition(self, name: str, type_: str) -> str:
        """The status of a condition of a cluster; empty without it."""
        found = shown(self.host, FEDERATED_CLUSTER.kind, name) or {}
        conditions = (found.get("status") or {}).get("conditions") or ()
        return next((str(x["status"]) for x in conditions if x["type"] == type_), "")

    def nodes(self, name: str) -> int:
        """Nodes of a cluster that take pods, as the cluster has reported."""
        found = shown(self.host, FEDERATED_CLUSTER.kind, name) or {}
        resources = (found.get("status") or {}).get("resources") or {}
        return int(resources.get("schedulableNodes", 0))

    def replicas(self, name: str) -> dict[str, int]:
        """Replicas of a Deployment by member."""
        found = {each.name: each.replicas(name) for each in self.members.values()}
        return {member: count for member, count in found.items() if count is not None}

    def total(self, name: str) -> int:
        """Replicas of a Deployment in all members together."""
        return sum(self.replicas(name).values())

    def running(self, name: str) -> int:
        """Pods of a Deployment that run, in all members together."""
        return sum(len(running(each.plane, name)) for each in self.members.values())

    def counts(self, name: str) -> dict[str, tuple[int, int, int]]:
        """Wanted replicas, pods and available pods of a Deployment by member, of one moment.

        The members are read until two rounds agree, so that a pod that moves meanwhile is not
        counted twice.
        """
        before: dict[str, tuple[int, int, int]] = {}
        while True:
            now = {each.name: count(each.plane, name) for each in self.members.values()}
            if now == before:
                return now
            before = now

    def federated(self, name: str, type_: str = "deployments.apps") -> Fields | None:
        """A federated object."""
        return shown(self.host, FEDERATED_OBJECT.kind, f"{name}-{type_}")

    def why(self) -> str:
        """Return the last log lines of the controllers."""
        tails = [path.read_text()[-1500:] for path in sorted(self._log.iterdir())]
        objects = shown(self.host, FEDERATED_OBJECT.kind, "") or {}
        states = [
            (each["metadata"]["name"], (each.get("status") or {}).get("clusters"))
            for each in objects.get("items", ())
        ]
        return "\n".join([*tails, str(states)])

    def until(self, holds: Callable[[], bool], within: float = WITHIN) -> None:
        """Wait until a condition holds; it does not while a server is unreachable."""
        end = time.monotonic() + within
        while not quietly(holds):
            assert time.monotonic() < end, self.why()
            time.sleep(0.2)

    def always(self, holds: Callable[[], bool], seconds: float) -> None:
        """Check that a condition holds for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert holds(), self.why()
            time.sleep(0.3)


def quietly(holds: Callable[[], bool]) -> bool:
    """Return whether a condition holds; not while a server is unreachable."""
    try:
        return holds()
    except UnreachableError:
        return False


def running_site(
    names_: tuple[str, ...], log: Path, parts: tuple[str, ...] = ()
) -> Iterator[FleetSite]:
    """A host and members; all servers start at the same time."""
    host_config = ControlPlaneConfig(users=(CertificateUser(USER),), audited=True)
    planes = [ControlPlane(host_config)]
    planes += [ControlPlane(ControlPlaneConfig(parts=parts)) for _ in names_]
    with ExitStack() as stack, ThreadPoolExecutor(len(planes)) as pool:
        list(pool.map(stack.enter_context, planes))
        site = FleetSite(planes[0], dict(zip(names_, planes[1:], strict=True)), log)
        with site:
            yield site


# ---------------------------------------------------------------------- objects


def encoded(value: bytes) -> str:
    """Bytes as a secret holds them."""
    return base64.b64encode(value).decode()


def put(plane: ControlPlane, kind: Kind, name: str, **fields: Any) -> None:
    """Create an object, which must be accepted."""
    metadata = {"name": name, **fields.pop("metadata", {})}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}
    path = collection_path(kind, metadata.get("namespace", ""))
    reply = plane.send("POST", path, json.dumps(body).encode())
    assert reply.status == 201, reply.body


def shown(plane: ControlPlane, kind: Kind, name: str, namespace: str = SPACE) -> Fields | None:
    """An object, or all of a kind without a name; ``None`` if there is none."""
    space = namespace if kind.namespaced else ""
    path = object_path(kind, space, name) if name else collection_path(kind, space)
    reply = plane.send("GET", path)
    if reply.status == 404:
        return None
    if reply.status != 200:
        raise UnreachableError(plane.server, reply.body.decode())
    found: Fields = json.loads(reply.body)
    return found


def patch(plane: ControlPlane, kind: Kind, name: str, change: Fields) -> None:
    """Merge a change into an object, which must be accepted."""
    path = object_path(kind, SPACE if kind.namespaced else "", name)
    reply = plane.send("PATCH", path, json.dumps(change).encode())
    assert reply.status == 200, reply.body


def delete(plane: ControlPlane, kind: Kind, name: str) -> None:
    """Delete an object, which must exist."""
    path = object_path(kind, SPACE if kind.namespaced else "", name)
    assert plane.send("DELETE", path).status in (200, 202)


def pods(plane: ControlPlane, name: str) -> list[Fields]:
    """The pods of a Deployment that are not being deleted."""
    found = shown(plane, POD, "") or {}
    return [
        each
        for each in found.get("items", ())
        if each["metadata"].get("labels", {}).get("app") == name
        and "deletionTimestamp" not in each["metadata"]
    ]


def running(plane: ControlPlane, name: str) -> list[Fields]:
    """The pods of a Deployment that run."""
    return [each for each in pods(plane, name) if each["status"].get("phase") == "Running"]


def count(plane: ControlPlane, name: str) -> tuple[int, int, int]:
    """Wanted replicas, pods and running pods of a Deployment in a member."""
    found = shown(plane, DEPLOYMENT, name)
    wanted = int(found["spec"]["replicas"]) if found is not None else 0
    return wanted, len(pods(plane, name)), len(running(plane, name))


def uids(site: "FleetSite", kind: Kind, name: str) -> dict[str, str]:
    """Uids of an object by member."""
    found = {each.name: shown(each.plane, kind, name) for each in site.members.values()}
    return {key: str(each["metadata"]["uid"]) for key, each in found.items() if each is not None}


def policy(site: FleetSite, name: str, **spec: Any) -> None:
    """A policy that divides, unless its spec says otherwise."""
    whole = {"schedulingMode": "Divide", **spec}
    put(site.host, PROPAGATION_POLICY.kind, name, metadata={"namespace": SPACE}, spec=whole)


def weighted(**weights: int) -> list[Fields]:
    """A placement with weights by cluster."""
    return [{"cluster": key, "preferences": {"weight": each}} for key, each in weights.items()]


def deployment(
    site: FleetSite, name: str, replicas: int, under: str, image: str = "app:v1", **more: Any
) -> None:
    """A Deployment under a policy."""
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "100m"}}}
    pod_spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    pod_spec |= more.pop("pod", {})
    labels = {"app": name}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod_spec},
        **more,
    }
    metadata = {"namespace": SPACE, "labels": {names.POLICY: under, **labels}}
    put(site.host, DEPLOYMENT, name, metadata=metadata, spec=spec)


def config_map(site: FleetSite, name: str, under: str, **data: str) -> None:
    """A ConfigMap under a policy."""
    metadata = {"namespace": SPACE, "labels": {names.POLICY: under}}
    put(site.host, CONFIG_MAP, name, metadata=metadata, data=data)
