"""`stretto scheduler` as a process of its own, and the objects that it is tried with."""

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

from stretto.lab.kube.control_plane import ControlPlane
from stretto.lab.kube.parts import Part, free_ports

SPACE = "contract"
_ANYBODY = ssl.create_default_context()
_ANYBODY.check_hostname, _ANYBODY.verify_mode = False, ssl.CERT_NONE


class Daemon:
    """A scheduler daemon over a control plane."""

    def __init__(self, kubeconfig: Path, log: Path, *more: str, verb: str = "scheduler") -> None:
        self.port = free_ports(1)[0]
        command = [sys.executable, "-m", "stretto.cli.main", verb]
        command += ["--kubeconfig", str(kubeconfig), "--log-format", "json"]
        command += ["--bind-address", f"127.0.0.1:{self.port}", "--tier", "numpy", *more]
        self.is_secure = any(word.startswith("--tls-cert-file") for word in more)
        self.part = Part(f"stretto {verb}", command, log)

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
        """What a path answers to the bearer of a token."""
        scheme = "https" if self.is_secure else "http"
        asked = urllib.request.Request(f"{scheme}://127.0.0.1:{self.port}{path}")
        if token:
            asked.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(asked, timeout=5, context=_ANYBODY) as said:
                return said.status, said.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def ready(self) -> Self:
        """Wait until it is ready to schedule."""
        until(lambda: self.page("/readyz") == (200, "ok\n"), 60, self._alive)
        return self

    def _alive(self) -> str:
        self.part.check()
        return self.part.said()


def until(holds: Callable[[], bool], within: float, said: Callable[[], object]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + within
    while not holds():
        text = said()
        assert time.monotonic() < deadline, text
        time.sleep(0.1)


def node(name: str, cpu: str = "8") -> bytes:
    """A node that is ready by itself."""
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    status = {"allocatable": amounts, "capacity": amounts}
    return json.dumps({"metadata": {"name": name}, "status": status}).encode()


def pod(name: str, cpu: str = "500m", **spec: Any) -> dict[str, Any]:
    """A pod for stretto, unless its spec says otherwise."""
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    whole = {"schedulerName": "stretto", "containers": [container], **spec}
    return {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": whole}


def put(plane: ControlPlane, path: str, *objects: dict[str, Any] | bytes) -> None:
    """Create objects that must be accepted."""
    for each in objects:
        body = each if isinstance(each, bytes) else json.dumps(each).encode()
        said = plane.ask("POST", path, body)
        assert said.status == 201, said.body


def pods_of(plane: ControlPlane, namespace: str = SPACE) -> list[dict[str, Any]]:
    """All pods of a namespace, as the API server holds them now."""
    said = plane.ask("GET", f"/api/v1/namespaces/{namespace}/pods")
    items: list[dict[str, Any]] = json.loads(said.body)["items"] if said.status == 200 else []
    return items


def bound(plane: ControlPlane, namespace: str = SPACE) -> dict[str, str]:
    """Nodes of the pods that have one, by name."""
    found = pods_of(plane, namespace)
    return {p["metadata"]["name"]: p["spec"]["nodeName"] for p in found if "nodeName" in p["spec"]}


def kubectl(plane: ControlPlane, *words: str) -> str:
    """What kubectl says."""
    from stretto.lab.kube.tools import build

    command = [str(build(["kubectl"])[0]), "--kubeconfig", str(plane.kubeconfig), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
