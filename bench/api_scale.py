"""Memory, lists and watches of the API server with many objects, without sockets.

    python bench/api_scale.py [--nodes N] [--pods N] [--watchers N]

One process holds the objects in memory and answers requests as ``stretto up`` does, without TLS and
HTTP, so that the figures are processor time of the server alone. Recorded are the resident memory,
the time of a list of half of the pods (whole, in pages, and as the table of ``kubectl get pods -A``
for 10,000 pods), and the time for which one event of a pod occupies the server for each watcher.
Results go to ``bench/results/api-scale-COMMIT.json``.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from record import commit, machine, store

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import make_node, make_pod
from stretto.web.api.message import ApiRequest, ApiResponse, ApiStream
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.api.webhooks.reviews import PendingReviews

BATCH = 1000
"""Objects that are created together."""
PAGE = 500
"""Pods of one page, as kubectl requests them."""
TABLE_PODS = 10_000
"""Pods of the table."""
EVENTS = 200
"""Pods whose creation all watchers receive."""
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
"""Media types that kubectl accepts."""


class Served:
    """A server with nodes, and with pods in three namespaces."""

    def __init__(self, nodes: int, pods: int) -> None:
        """Create the objects."""
        clock = WallClock()
        self._store = MemoryStore(clock, Rng(0))
        self._server = ApiServer(self._store, ApiSettings(clock, Rng(1)))
        for low in range(0, nodes, BATCH):
            self._store.create(NODE, [make_node(f"n{low + i}", cpu="64") for i in range(BATCH)])
        half = pods // 2
        self.add("half", half)
        self.add("table", TABLE_PODS)
        self.add("rest", pods - half - TABLE_PODS)

    def add(self, namespace: str, count: int) -> None:
        """Create pods in a namespace."""
        for low in range(0, count, BATCH):
            names = [f"p{low + i}" for i in range(min(BATCH, count - low))]
            self._store.create(POD, [make_pod(each, namespace=namespace) for each in names])

    def get(self, target: str, accept: str = "application/json") -> bytes:
        """The body of an answer."""
        answer = self._server.attempt(ApiRequest("GET", target, {"accept": accept}))
        assert not isinstance(answer, PendingReviews)
        assert answer.status == 200
        if isinstance(answer, ApiResponse):
            return answer.body
        return b"".join(chunk for chunks in iter(answer.poll, None) for chunk in chunks)

    def watch(self, namespace: str) -> ApiStream:
        """A watch of the pods of a namespace from now on."""
        version = json.loads(self.get(f"{_pods(namespace)}?limit=1"))["metadata"]["resourceVersion"]
        target = f"{_pods(namespace)}?watch=1&resourceVersion={version}"
        stream = self._server.attempt(ApiRequest("GET", target))
        assert isinstance(stream, ApiStream)
        return stream


def _pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


def resident_mib() -> float:
    """Resident memory of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(each.split()[1]) / 1024 for each in lines if each.startswith("VmRSS"))


def listed(served: Served) -> dict[str, float]:
    """Seconds of processor time of lists, and the slowest page of a list in pages."""
    start = time.process_time()
    body = served.get(_pods("half"))
    whole = time.process_time() - start
    pages, token = [], ""
    while True:
        start = time.process_time()
        page = served.get(f"{_pods('half')}?limit={PAGE}{token}")
        pages.append(time.process_time() - start)
        found = json.loads(page)["metadata"].get("continue", "")
        if not found:
            break
        token = f"&continue={found}"
    start, token = time.process_time(), ""
    while True:
        table = json.loads(served.get(f"{_pods('table')}?limit={PAGE}{token}", TABLE))
        if not (found := table["metadata"].get("continue", "")):
            break
        token = f"&continue={found}"
    return {
        "list_s": round(whole, 3),
        "list_mib": round(len(body) / 2**20, 1),
        "page_ms_median": round(statistics.median(pages) * 1e3, 2),
        "page_ms_slowest": round(max(pages) * 1e3, 2),
        "kubectl_table_s": round(time.process_time() - start, 3),
    }


def watched(served: Served, watchers: int) -> float:
    """Microseconds of processor time for each event and watcher."""
    streams = [served.watch("watched") for _ in range(watchers)]
    for stream in streams:
        stream.poll()
    served.add("watched", EVENTS)
    start = time.process_time()
    chunks = [stream.poll() or () for stream in streams]
    spent = time.process_time() - start
    assert all(b"".join(each).count(b'"ADDED"') == EVENTS for each in chunks)
    for stream in streams:
        stream.close()
    return spent / EVENTS / watchers * 1e6


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--watchers", type=int, default=500)
    options = parser.parse_args()
    host = machine()
    served = Served(options.nodes, options.pods)
    memory = resident_mib()
    found: dict[str, Any] = {
        "commit": commit(),
        "machine": host,
        "nodes": options.nodes,
        "pods": options.pods,
        "watchers": options.watchers,
        "resident_mib": round(memory),
        "listed_pods": options.pods // 2,
        "table_pods": TABLE_PODS,
        **listed(served),
        "event_us_per_watcher": round(watched(served, options.watchers), 2),
    }
    print(json.dumps(found, indent=1))
    store("api-scale", found)


if __name__ == "__main__":
    main()
