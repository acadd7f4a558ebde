"""Memory of a whole federation: all controllers, the host and its members in one process.

    python bench/fleet_memory.py [--clusters N] [--workloads N ...] [--forms N]

Writes ``bench/results/fleet-memory-COMMIT.json``: resident memory and processor time for each
Deployment of the host, which runs in two clusters. Members are stores without controllers of their
own, so what they hold is counted, and what they would do is not.
"""

import argparse
import gc
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
from record import commit, machine, store

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_TYPE_CONFIG,
    PROPAGATION_POLICY,
)
from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.types.federation.policies import APIResource
from stretto.api.wire.kinds import DEPLOYMENT, NAMESPACE, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.federation import names
from stretto.federation.assembly import Federation
from stretto.federation.connection.protocol import MemberAnswer, MemberProbe
from stretto.federation.objects.defaults import default_types
from stretto.federation.settings import FederationSettings
from stretto.reconcile.cache import KEPT_FORMS, DecodedForms
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Store, WriteOutcome

BATCH = 200
"""Deployments of one write to the host."""
HISTORY = 256
"""Events that a store keeps for each kind; those of a real API server are not in this process."""
_PAGE_MIB = 4096 / 2**20
_KINDS = (
    APIResource("apps", "v1", "Deployment", "deployments", "Namespaced"),
    APIResource("", "v1", "Namespace", "namespaces", "Cluster"),
)


class StoreMember:
    """A member that is a store and answers at once; it is its own connection."""

    def __init__(self, clock: ManualClock, number: int, store: Store | None = None) -> None:
        self.store: Store = store or MemoryStore(clock, Rng(number), HISTORY)

    def probe(self) -> Future[MemberProbe]:
        """It is healthy and serves two kinds."""
        made: Future[MemberProbe] = Future()
        made.set_result(MemberProbe(MemberAnswer.HEALTHY, "", _KINDS))
        return made

    def usage(self, namespace: str) -> Future[Sequence[PodMetrics]]:
        """No pod runs."""
        made: Future[Sequence[PodMetrics]] = Future()
        made.set_result(())
        return made

    def close(self) -> None:
        """Nothing to close."""


class StoreConnector:
    """Members by name."""

    def __init__(self, members: dict[str, StoreMember]) -> None:
        self._members = members

    def connect(self, name: str, *_: object) -> StoreMember:
        """The member of that name."""
        return self._members[name]


class WholeFleet:
    """A host, its members and all controllers."""

    def __init__(self, clusters: int) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.host = MemoryStore(self.clock, Rng(0), HISTORY)
        self.names = [f"c{at:04}" for at in range(clusters)]
        self.members = {name: StoreMember(self.clock, at) for at, name in enumerate(self.names, 1)}
        settings = FederationSettings(health_period=1e6, health_threshold=0.0)
        self.federation = Federation(self.host, self.clock, settings, StoreConnector(self.members))
        used = {"deployments.apps", "namespaces"}
        configs = [each for each in default_types() if each["metadata"]["name"] in used]
        self.create(FEDERATED_TYPE_CONFIG.kind, configs)
        self.create(NAMESPACE, [{"metadata": {"name": "default"}}])
        self.create(FEDERATED_CLUSTER.kind, [{"metadata": {"name": x}} for x in self.names])
        self.create(PROPAGATION_POLICY.kind, [self.policy(at) for at in range(clusters)])
        self.settle()

    def create(self, kind: Kind, bodies: list[dict[str, Any]]) -> None:
        """Create objects."""
        for reply in self.host.create(kind, [msgspec.json.encode(each) for each in bodies]):
            assert reply.outcome is WriteOutcome.OK, reply

    def policy(self, number: int) -> dict[str, Any]:
        """Equal shares of two clusters."""
        listed = (self.names[number], self.names[(number + 1) % len(self.names)])
        placement = [{"cluster": name, "preferences": {"weight": 1}} for name in listed]
        spec = {"schedulingMode": "Divide", "placement": placement}
        return {"metadata": {"name": f"p{number}", "namespace": "default"}, "spec": spec}

    def add(self, first: int, count: int) -> None:
        """Create Deployments."""
        numbers = range(first, first + count)
        self.create(DEPLOYMENT, [deployment(at, len(self.names)) for at in numbers])

    def settle(self) -> None:
        """Run the controllers until all that is due soon is done."""
        for _ in range(8):
            self.federation.loop.step()
            self.clock.advance(1.0)
        assert not self.federation.loop.errors, self.federation.loop.errors


def deployment(number: int, policies: int) -> dict[str, Any]:
    """A Deployment with a policy."""
    requests = {"requests": {"cpu": "1", "memory": "2Gi"}}
    pod = {"containers": [{"name": "main", "image": "app:v1", "resources": requests}]}
    labels = {names.POLICY: f"p{number % policies}"}
    return {
        "metadata": {"name": f"w{number}", "namespace": "default", "labels": labels},
        "spec": {"replicas": 2 + number % 100, "template": {"spec": pod}},
    }


def resident() -> float:
    """Resident memory of this process in MiB."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_MIB


def measure(clusters: int, counts: Sequence[int]) -> list[dict[str, float]]:
    """Memory and processor time at some numbers of workloads, of those since the one before."""
    fleet, points, known = WholeFleet(clusters), list[dict[str, float]](), 0
    before = resident()
    for count in counts:
        begin = process_time()
        for first in range(known, count, BATCH):
            fleet.add(first, min(BATCH, count - first))
            fleet.settle()
        seconds, after, more = process_time() - begin, resident(), count - known
        points.append(
            {
                "clusters": clusters,
                "workloads": count,
                "mib": round(after, 1),
                "kib_of_a_workload": round((after - before) * 1024 / more, 2),
                "ms_of_a_workload": round(1000 * seconds / more, 2),
            }
        )
        before, known = after, count
        print(points[-1])
    return points


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--workloads", type=int, nargs="+", default=[5_000, 10_000])
    parser.add_argument("--forms", type=int, default=KEPT_FORMS, help="decoded objects kept")
    args = parser.parse_args()
    DecodedForms.__init__.__defaults__ = (args.forms,)
    points = measure(args.clusters, args.workloads)
    store("fleet-memory", {"commit": commit(), "machine": machine(), "points": points})


if __name__ == "__main__":
    main()
