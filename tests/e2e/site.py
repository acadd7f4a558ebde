"""A part of a cluster with its own nodes, pods and namespace, for long scenarios."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from stretto.explain.doctor.doctor import examine, subject_of
from stretto.explain.doctor.findings import DoctorCheck, Finding
from stretto.sim.states.clusters import listed
from stretto_lab.control_plane.cluster import ControlPlane
from tests.e2e.daemon import (
    TIMEOUT,
    Daemon,
    item,
    kubectl,
    node,
    pod,
    pods_of,
    put,
    until,
    why,
)
from tests.e2e.plane import NAMES, store_of

OPEN = {DoctorCheck.UNKNOWN_NODE}
"""Findings that are expected while nodes are deleted: a controller removes those pods later."""


def broken_laws(plane: ControlPlane) -> list[Finding]:
    """Findings of violated laws in etcd, for the whole cluster."""
    store = store_of(plane)
    try:
        found = examine(subject_of(listed(store).records, NAMES)).broken
    finally:
        store.close()
    return [each for each in found if each.check not in OPEN]


class Yard:
    """Nodes with a separate label, and pods that only these nodes admit."""

    def __init__(self, plane: ControlPlane, daemon: Daemon, name: str) -> None:
        self.plane, self.daemon, self.space = plane, daemon, name
        self.here = {"yard": name}

    # ------------------------------------------------------------ objects

    def nodes(self, *names: str, cpu: str = "4", **labels: str) -> list[str]:
        """Create nodes of the yard, named with its prefix."""
        made = [f"{self.space}-{name}" for name in names]
        for name in made:
            body = json.loads(node(name, cpu))
            host = {"kubernetes.io/hostname": name}
            body["metadata"]["labels"] = {**self.here, **host, **labels}
            put(self.plane, "/api/v1/nodes", body)
        until(lambda: not self._tainted(made), self.said)
        return made

    def _tainted(self, names: list[str]) -> bool:
        found = [item(self.plane, f"/api/v1/nodes/{name}") for name in names]
        return any(each["spec"].get("taints") for each in found)

    def template(self, app: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
        """A pod template."""
        requests = {"requests": {"cpu": cpu}}
        whole = {"schedulerName": "stretto", "nodeSelector": self.here, **spec}
        whole["containers"] = [{"name": "main", "image": "x", "resources": requests}]
        return {"metadata": {"labels": {"app": app}, "annotations": {}}, "spec": whole}

    def owner(self, kind: str, app: str, template: dict[str, Any], **spec: Any) -> None:
        """Create a controller of pods, such as ``deployments``."""
        whole = {"selector": {"matchLabels": {"app": app}}, "template": template, **spec}
        path = f"/apis/apps/v1/namespaces/{self.space}/{kind}"
        put(self.plane, path, {"metadata": {"name": app}, "spec": whole})

    def pod(self, name: str, template: dict[str, Any]) -> None:
        """Create a pod without an owner."""
        body = {"metadata": {**template["metadata"], "name": name}, "spec": template["spec"]}
        put(self.plane, f"/api/v1/namespaces/{self.space}/pods", body)

    def kubectl(self, *words: str) -> str:
        return kubectl(self.plane, "--namespace", self.space, *words)

    def rank(self, name: str, value: int) -> str:
        """Create a priority class and return its name once the server admits pods with it.

        The admission plugin reads classes from its own watch.
        """
        whole = f"{self.space}-{name}"
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        put(self.plane, path, {"metadata": {"name": whole}, "value": value})
        trial = json.dumps(pod("trial", priorityClassName=whole)).encode()
        path = f"/api/v1/namespaces/{self.space}/pods?dryRun=All"
        until(lambda: self.plane.send("POST", path, trial).status == 201, self.said)
        return whole

    # ------------------------------------------------------------ state

    def why(self, name: str) -> str:
        """Condition messages of a pod."""
        return why(self.plane, name, self.space)

    def held(self) -> Counter[str]:
        """Number of bound pods by node, running or not."""
        nodes = (each["spec"].get("nodeName") for each in pods_of(self.plane, self.space))
        return Counter(name for name in nodes if name)

    def pods(self, app: str = "") -> list[dict[str, Any]]:
        """Pods that are not being deleted."""
        return [
            each
            for each in pods_of(self.plane, self.space)
            if "deletionTimestamp" not in each["metadata"]
            and app in ("", each["metadata"].get("labels", {}).get("app"))
        ]

    def places(self, app: str = "") -> dict[str, str]:
        """Nodes of running pods, by pod name."""
        return {
            each["metadata"]["name"]: each["spec"]["nodeName"]
            for each in self.pods(app)
            if each["status"].get("phase") == "Running"
        }

    def loads(self, app: str = "") -> Counter[str]:
        """Number of running pods by node."""
        return Counter(self.places(app).values())

    def runs(self, app: str, count: int) -> None:
        """Wait until exactly ``count`` pods exist and run."""
        self.until(lambda: len(self.places(app)) == len(self.pods(app)) == count)

    def until(self, holds: Callable[[], bool], within: float = TIMEOUT) -> None:
        """Wait until a condition holds."""
        until(holds, self.said, within)

    def said(self) -> str:
        places = {e["metadata"]["name"]: e["spec"].get("nodeName") for e in self.pods()}
        return f"{places}\n{self.daemon.part.log_tail()}"

    def broken(self) -> list[Finding]:
        """Findings of violated laws in etcd, for the whole cluster."""
        return broken_laws(self.plane)
