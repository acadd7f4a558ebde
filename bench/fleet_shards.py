"""Memory and list cost of one shard of a federation, by the number of shards.

    python bench/fleet_shards.py [--objects N] [--spaces N]

Writes ``bench/results/fleet-shards-COMMIT.json``. An API server of ``stretto up`` holds Deployments
in many namespaces. A process for each shard lists its part over HTTP and keeps it in a cache, as
the processes of a federation do. It is measured with a server that filters shards, and with one
that ignores their options, as kube-apiserver does: the process then drops the other objects by
their metadata. Memory is what the list and the cache add to the resident memory of the process.
"""

import argparse
import gc
import itertools
import json
import multiprocessing
import os
import statistics
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any
from unittest import mock

from record import commit, machine, store

from stretto.api.wire.kinds import DEPLOYMENT
from stretto.api.wire.shards import ObjectShard
from stretto.base.rng import Rng
from stretto.reconcile.cache import ObjectCache
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.reflector import Reflector, ReflectorSettings
from stretto.stores.store import EVERYTHING, ListOptions

if TYPE_CHECKING:
    from stretto_lab.conformance.apiserver.served import ServedCluster

FORKS = multiprocessing.get_context("forkserver")
"""Starts processes that have imported this module and nothing else."""
COUNTS = (1, 2, 4)
"""Numbers of shards."""
ROUNDS = 3
"""Runs of each shard; their median counts."""


def resident() -> float:
    """Resident memory of this process in MiB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def deployment(number: int) -> bytes:
    """A Deployment of usual size."""
    variables = [{"name": f"SETTING_{at}", "value": f"value-{number}-{at}"} for at in range(20)]
    requests = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    container = {"name": "main", "image": "app:v1", "env": variables, "resources": requests}
    labels = {"app": f"web-{number}"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": pod}
    return json.dumps(
        {"metadata": {"name": f"web-{number}", "labels": labels}, "spec": spec}
    ).encode()


def fill(served: "ServedCluster", objects: int, spaces: int) -> None:
    """Create namespaces with Deployments."""
    for at in range(spaces):
        body = json.dumps({"metadata": {"name": f"team-{at}"}}).encode()
        sent(served, "/api/v1/namespaces", body)
    for number in range(objects):
        path = f"/apis/apps/v1/namespaces/team-{number % spaces}/deployments"
        sent(served, path, deployment(number))


def sent(served: "ServedCluster", path: str, body: bytes) -> None:
    """Create one object."""
    from stretto.web.api.message import ApiRequest, ApiResponse

    answer = served.handle(ApiRequest("POST", path, {"content-type": "application/json"}, body))
    assert isinstance(answer, ApiResponse)
    assert answer.status == 201, answer.body


def child(kubeconfig: Path, shard: int, shards: int, filters: bool) -> dict[str, float]:
    """List and watch one shard in this process."""
    query = ObjectShard.query if filters else lambda _: {}
    with mock.patch.object(ObjectShard, "query", query):
        opened = KubeStore(KubeconfigAccess(kubeconfig), Rng(1))
        opened.list(DEPLOYMENT, ListOptions(namespace="none"))  # connects
        before, began, used = resident(), perf_counter(), process_time()
        shard_of = ListOptions(shard=ObjectShard(shards, shard)) if shards > 1 else EVERYTHING
        cache = ObjectCache(DEPLOYMENT, "host", lambda _: None)
        Reflector(opened, DEPLOYMENT, cache, ReflectorSettings(selection=shard_of)).poll(0.0)
        found = len(cache)
        took, cpu = perf_counter() - began, process_time() - used
        made = {"objects": found, "list_s": took, "cpu_s": cpu, "mib": resident() - before}
        opened.close()
    return made


def run(kubeconfig: Path, shard: int, shards: int, *, filters: bool) -> dict[str, float]:
    """Measure one shard in a process of its own, with the processor time of the server."""
    used = process_time()
    with FORKS.Pool(1) as pool:
        made = pool.apply(child, (kubeconfig, shard, shards, filters))
    return {**made, "server_cpu_s": process_time() - used}


def point(kubeconfig: Path, shards: int, *, filters: bool) -> dict[str, Any]:
    """Measure all shards of a number; the median shard and the sums."""
    parts = []
    for shard in range(shards):
        rounds = [run(kubeconfig, shard, shards, filters=filters) for _ in range(ROUNDS)]
        parts.append({key: statistics.median(x[key] for x in rounds) for key in rounds[0]})
    largest = max(parts, key=lambda each: each["objects"])
    return {
        "shards": shards,
        "server": "filters" if filters else "ignores shards",
        "largest_shard": {key: round(value, 3) for key, value in largest.items()},
        "objects_of_all": sum(int(each["objects"]) for each in parts),
        "server_cpu_s_of_all": round(sum(each["server_cpu_s"] for each in parts), 3),
    }


def main() -> None:
    """Measure every number of shards, and record it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=4000)
    parser.add_argument("--spaces", type=int, default=100)
    args = parser.parse_args()
    from stretto_lab.conformance.apiserver.served import ServedCluster

    described = machine()
    FORKS.set_forkserver_preload(["fleet_shards"])
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        served = ServedCluster(kubeconfig, full=False)
        fill(served, args.objects, args.spaces)
        points = []
        for filters, shards in itertools.product((True, False), COUNTS):
            points.append(point(kubeconfig, shards, filters=filters))
            print(points[-1], flush=True)
        served.close()
    found = {"objects": args.objects, "namespaces": args.spaces, "points": points}
    store("fleet-shards", {"commit": commit(), "machine": described, **found})


if __name__ == "__main__":
    main()
