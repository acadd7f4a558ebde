"""A real API server under the contract: one for the whole run, emptied before each test."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from stretto.api.wire.kinds import CONFIG_MAP, NODE, POD, POD_DISRUPTION_BUDGET, QUEUE, Kind
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.paths import collection_path, object_path
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.options import KubeOptions
from stretto_lab.control_plane.cluster import ServerAnswer
from tests.contract.subjects import Subject

SPACES = ("contract", "a-space-before", "elsewhere", "one", "two")
"""Namespaces that the suite writes to: an API server requires them to exist."""

KINDS = (POD, NODE, CONFIG_MAP, POD_DISRUPTION_BUDGET, QUEUE)
"""Kinds that the suite writes."""


SURE = KubeOptions(
    write_timeout=30.0, read_timeout=30.0, connect=10.0, answer=20.0, longest_wait=1.0
)
"""Long timeouts: the requests must succeed on a busy machine."""
_SWEEPS = 100
"""Attempts to remove everything from a server: one, unless it is very busy."""
_PAUSE = 0.02
"""Seconds between them."""


class ServerUnderTest(Protocol):
    """An API server with requests of its administrator."""

    kubeconfig: Path

    def send(self, method: str, path: str, body: bytes = b"") -> ServerAnswer:
        """Send one request."""
        ...

    def install(self, kinds: Sequence[Kind]) -> None:
        """Create CRDs and wait until they are served."""
        ...


def kube_subject(plane: ServerUnderTest, name: str = "kube") -> Subject:
    """An API server as a subject."""
    for space in SPACES:
        plane.send("POST", "/api/v1/namespaces", json.dumps({"metadata": {"name": space}}).encode())

    def make(_: Path) -> KubeStore:
        wipe(plane)
        return KubeStore(KubeconfigAccess(plane.kubeconfig), Rng(3), SURE)

    return Subject(name, make, history=0, latency=30.0, quiet=0.5)


def wipe(plane: ServerUnderTest) -> None:
    """Remove all objects of the suite, held or on a node; ends when there are none.

    Raises:
        AssertionError: some stay, however often they are removed.
    """
    plane.install((QUEUE,))
    for _ in range(_SWEEPS):
        if _is_empty(plane):
            return
        _sweep(plane)
        time.sleep(_PAUSE)
    raise AssertionError("objects of the test before this one stay")


def _is_empty(plane: ServerUnderTest) -> bool:
    return not any(_items(plane, path) for path in _places())


def _places() -> list[str]:
    spaces = {kind: SPACES if kind.namespaced else ("",) for kind in KINDS}
    return [collection_path(kind, space) for kind in KINDS for space in spaces[kind]]


def _items(plane: ServerUnderTest, path: str) -> list[dict[str, Any]]:
    said = plane.send("GET", path)
    assert said.status == 200, said.body
    items: list[dict[str, Any]] = json.loads(said.body)["items"]
    return items


def _sweep(plane: ServerUnderTest) -> None:
    for item in _items(plane, collection_path(POD)):
        meta = item["metadata"]
        if meta.get("finalizers"):
            path = object_path(POD, meta["namespace"], meta["name"])
            plane.send("PATCH", path, b'{"metadata": {"finalizers": null}}')
    for path in _places():
        if _items(plane, path):
            plane.send("DELETE", f"{path}?gracePeriodSeconds=0")
