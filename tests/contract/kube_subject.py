"""A real API server under the contract: one for the whole run, emptied before each test."""

import json
from pathlib import Path

from stretto.api.kinds import CONFIG_MAP, NODE, POD, POD_DISRUPTION_BUDGET, QUEUE
from stretto.base.rng import Rng
from stretto.lab.kube.control_plane import ControlPlane
from stretto.stores.kube.access import KubeconfigAccess
from stretto.stores.kube.paths import collection, single
from stretto.stores.kube.store import KubeStore
from tests.contract.subjects import Subject

SPACES = ("contract", "a-space-before", "elsewhere", "one", "two")
"""Namespaces that the suite writes to: an API server wants them made."""

KINDS = (POD, NODE, CONFIG_MAP, POD_DISRUPTION_BUDGET, QUEUE)
"""Kinds that the suite writes."""


def kube_subject(plane: ControlPlane) -> Subject:
    """The API server as a subject."""
    for space in SPACES:
        plane.ask("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": space}}).encode())

    def make(_: Path) -> KubeStore:
        wipe(plane)
        return KubeStore(KubeconfigAccess(plane.kubeconfig), Rng(3))

    return Subject("kube", make, history=0, latency=5.0)


def wipe(plane: ControlPlane) -> None:
    """Remove all objects of the suite, held or on a node."""
    plane.install((QUEUE,))
    for item in json.loads(plane.ask("GET", collection(POD)).body)["items"]:
        meta = item["metadata"]
        if meta.get("finalizers"):
            path = single(POD, meta["namespace"], meta["name"])
            plane.ask("PATCH", path, b'{"metadata": {"finalizers": null}}')
    for kind in KINDS:
        for space in SPACES if kind.namespaced else ("",):
            path = collection(kind, space)
            if json.loads(plane.ask("GET", path).body)["items"]:
                plane.ask("DELETE", f"{path}?gracePeriodSeconds=0")
