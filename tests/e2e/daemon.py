"""`stretto scheduler` as a separate process, and objects for its tests."""

import itertools
import json
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

from stretto.api.wire.kinds import POD, POD_GROUP
from stretto.base.errors import UnreachableError
from stretto.stores.kube.paths import collection_path, object_path
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.parts import ServerProcess, free_ports

SPACE = "contract"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PREFIX = "godel.bytedance.com/"
TIMEOUT = 150.0
"""Timeout on a busy machine in seconds; a limit of the tests, not of the product."""
FEDERATION = "federation run"
"""The verb of the controllers of a federation."""
SCALER = "scaler"
"""The verb of the controllers of scaling groups and tidal pools."""
_TURNS = itertools.count()
_UNVERIFIED = ssl.create_default_context()
_UNVERIFIED.check_hostname, _UNVERIFIED.verify_mode = False, ssl.CERT_NONE


class Daemon:
    """A scheduler daemon over a control plane."""

    def __init__(self, kubeconfig: Path, log: Path, *more: str, verb: str = "scheduler") -> None:
        self.port = free_ports(1)[0]
        command = [sys.executable, "-m", "stretto.cli.main", *verb.split()]
        command += ["--kubeconfig", str(kubeconfig), "--log-format", "json"]
        command += ["--bind-address", f"127.0.0.1:{self.port}", *more]
        command += [] if verb in (FEDERATION, SCALER) else ["--tier", "numpy"]
        self.is_secure = any(word.startswith("--tls-cert-file") for word in more)
        self.part = ServerProcess(f"stretto {verb}", command, log)

    def __enter__(self) -> Self:
        self.part.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.part.stop()

    def page(self, path: str, token: str = "") -> tuple[int, str]:
        """Status and body of a GET with a bearer token."""
        scheme = "https" if self.is_secure else "http"
        requested = urllib.request.Request(f"{scheme}://127.0.0.1:{self.port}{path}")
        if token:
            requested.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(requested, timeout=5, context=_UNVERIFIED) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def is_ready(self) -> bool:
        """Return whether it is ready to schedule."""
        return self.page("/readyz") == (200, "ok\n")

    def stands_by(self) -> bool:
        """Return whether it is a standby that is ready to take over."""
        return "standing by" in self.page("/readyz")[1]

    def ready(self) -> Self:
        """Wait until it is ready."""
        until(self.is_ready, self._alive)
        return self

    def _alive(self) -> str:
        self.part.check()
        return self.part.log_tail()


def turn() -> int:
    """A number that was not used before."""
    return next(_TURNS)


def until(
    holds: Callable[[], bool], describe: Callable[[], object], within: float = TIMEOUT
) -> None:
    """Wait until a condition holds; it does not hold while the server is unreachable."""
    deadline = time.monotonic() + within
    while True:
        try:
            if holds():
                return
            text = describe()
        except UnreachableError as error:
            text = error
        assert time.monotonic() < deadline, text
        time.sleep(0.1)


def node(name: str, cpu: str = "8") -> bytes:
    """A Ready node."""
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    status = {"allocatable": amounts, "capacity": amounts}
    return json.dumps({"metadata": {"name": name}, "status": status}).encode()


def pod(name: str, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    """A pod for stretto, unless its spec names another scheduler."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    whole = {"schedulerName": "stretto", "containers": [container], **spec}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": whole}


def put(plane: ControlPlane, path: str, *objects: dict[str, Any] | bytes) -> None:
    """Create objects; all must be accepted."""
    for each in objects:
        body = each if isinstance(each, bytes) else json.dumps(each).encode()
        reply = plane.send("POST", path, body)
        assert reply.status == 201, reply.body


def item(plane: ControlPlane, path: str) -> dict[str, Any]:
    """Read an object."""
    reply = plane.send("GET", path)
    assert reply.status == 200, reply.body
    found: dict[str, Any] = json.loads(reply.body)
    return found


def ready_nodes(plane: ControlPlane, *names: str, cpu: str = "64", **labels: str) -> None:
    """Create Ready nodes without taints."""
    for name in names:
        body = json.loads(node(name, cpu))
        body["metadata"]["labels"] = labels
        put(plane, "/api/v1/nodes", body)
        done = plane.send("PATCH", f"/api/v1/nodes/{name}", b'{"spec": {"taints": null}}')
        assert done.status == 200, done.body


def named_space(plane: ControlPlane, test: str) -> str:
    """Create a namespace for a test and return its name."""
    name = f"t{crc32(test.encode()):08x}"
    put(plane, "/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def groups(space: str = SPACE) -> str:
    """Path of the PodGroups of a namespace."""
    return collection_path(POD_GROUP, space)


def group(name: str, least: int) -> dict[str, Any]:
    """A PodGroup."""
    named = {"apiVersion": POD_GROUP.api_version, "kind": POD_GROUP.kind}
    return {**named, "metadata": {"name": name}, "spec": {"minMember": least}}


def member(name: str, of: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A pod of a group."""
    body = pod(name, cpu, **spec)
    body["metadata"]["annotations"] = {f"{PREFIX}pod-group-name": of}
    body["metadata"]["labels"][f"{PREFIX}pod-group-name"] = of
    return body


def pods_of(plane: ControlPlane, namespace: str = SPACE) -> list[dict[str, Any]]:
    """All pods of a namespace.

    Raises:
        UnreachableError: the server rejects the request.
    """
    reply = plane.send("GET", f"/api/v1/namespaces/{namespace}/pods")
    if reply.status != 200:
        raise UnreachableError(plane.server, reply.body.decode())
    items: list[dict[str, Any]] = json.loads(reply.body)["items"]
    return items


def bound(plane: ControlPlane, namespace: str = SPACE) -> dict[str, str]:
    """Nodes of bound pods, by name."""
    found = pods_of(plane, namespace)
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in found if "nodeName" in p["spec"]}


def why(plane: ControlPlane, name: str, namespace: str = SPACE) -> str:
    """Condition messages of a pod, for example why it is pending."""
    status = item(plane, object_path(POD, namespace, name))["status"]
    return " ".join(each.get("message", "") for each in status.get("conditions", []))


def may(plane: ControlPlane, user: str, what: dict[str, str]) -> bool:
    """Return whether RBAC permits a user to do something."""
    about = {"spec": {"user": user, "resourceAttributes": what}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    reply = plane.send("POST", path, json.dumps(about).encode())
    return bool(json.loads(reply.body)["status"]["allowed"])


def rights_settle(plane: ControlPlane) -> None:
    """Wait until the server applies all RBAC objects written so far.

    The server reads RBAC objects from one watch per kind, so recent ones may not apply yet. The
    objects written here are the last to apply.
    """
    user = f"settled-{turn()}"
    everywhere, here = {"verb": "get", "resource": "pods"}, {"verb": "get", "resource": "secrets"}
    for prefix, path, what in (
        ("Cluster", "", everywhere),
        ("", "/namespaces/kube-system", {**here, "namespace": "kube-system"}),
    ):
        rule = {"apiGroups": [""], "resources": [what["resource"]], "verbs": [what["verb"]]}
        role = {"metadata": {"name": user}, "rules": [rule]}
        put(plane, f"{RBAC}{path}/{prefix.lower()}roles", role)
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{prefix}Role", "name": user}
        whom = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
        binding = {"metadata": {"name": user}, "roleRef": ref, "subjects": [whom]}
        put(plane, f"{RBAC}{path}/{prefix.lower()}rolebindings", binding)
        until(
            lambda what=what: may(plane, user, what),
            lambda: f"the rights of {user} do not apply yet",
        )


def all_powerful(plane: ControlPlane, account: str) -> str:
    """Create a service account with all rights and return its uid."""
    accounts = f"/api/v1/namespaces/{SPACE}/serviceaccounts"
    plane.send("POST", accounts, json.dumps({"metadata": {"name": account}}).encode())
    empower(plane, {"kind": "ServiceAccount", "name": account, "namespace": SPACE})
    return str(item(plane, f"{accounts}/{account}")["metadata"]["uid"])


def empower(plane: ControlPlane, subject: dict[str, str]) -> None:
    """Give a subject all rights."""
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": subject["name"]}, "roleRef": ref, "subjects": [subject]}
    plane.send("POST", f"{RBAC}/clusterrolebindings", json.dumps(binding).encode())
    rights_settle(plane)


def kubectl(plane: ControlPlane, *words: str) -> str:
    """Output of kubectl."""
    from stretto_lab.control_plane.tools import build

    command = [str(build(["kubectl"])[0]), "--kubeconfig", str(plane.kubeconfig), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
