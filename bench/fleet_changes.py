"""Schedule federated objects through the scheduling controller: decode, policy, triggers, division.

    python bench/fleet_changes.py [--clusters N] [--workloads N] [--shards N]

Writes ``bench/results/fleet-changes-COMMIT.json``: federated objects per second from scratch and
after a change of their replicas, the effect of one cluster's report, bytes of the trigger record,
and memory; times are of the processor. Objects are in the embedded store; policies list eight
clusters of a region. With shards, each of which has a core, the time is that of the first one: it
reads every change and decides about its part.
"""

import argparse
import resource
from statistics import median
from time import perf_counter as wall_clock
from time import process_time
from typing import Any

import msgspec
from record import commit, machine, store

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    FEDERATED_TYPE_CONFIG,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.federation import names
from stretto.federation.controllers.exchange.peers import ShardPeers
from stretto.federation.controllers.reports import COMPONENT, ObjectReporter
from stretto.federation.controllers.schedule import ScheduleController
from stretto.federation.controllers.supply.agreement import CapacityAgreement
from stretto.federation.controllers.supply.offers import FleetSupply
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects.defaults import default_types
from stretto.federation.settings import FederationSettings
from stretto.federation.shares import WHOLE, ControllerShare, ShardedController
from stretto.reconcile.event_queue import EventQueue
from stretto.reconcile.loop import ReconcileLoop
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch, WriteOutcome
from stretto.stores.webhooks import NO_WEBHOOKS

IN_POLICY = 8
"""Clusters of one policy."""
SPACES = 64
"""Namespaces."""
BATCH = 1000
"""Objects of one write to the store."""
ROUNDS = 5
"""Rounds of changes; their median counts."""


class FleetHost:
    """A host with clusters, policies and federated objects, and the scheduling controller."""

    def __init__(self, clusters: int, workloads: int, shards: int = 1) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.spaces: dict[str, str] = {}
        self.store = MemoryStore(self.clock, Rng(0))
        self.loop = ReconcileLoop(self.clock)
        self.fleet = ClusterFleet(self.loop.add_store(HOST, self.store), FederationSettings())
        events = EventQueue(self.store, self.clock, COMPONENT, lambda: None)
        reporter = ObjectReporter(self.fleet, self.clock, events)
        supply = FleetSupply(self.fleet, self.clock)
        agreement = CapacityAgreement(supply, ShardPeers(self.fleet, WHOLE, self.clock))
        schedule = ScheduleController(self.fleet, agreement, NO_WEBHOOKS, reporter)
        share = ControllerShare(shards=shards)
        self.loop.add_controllers([ShardedController(schedule, share.owns)])
        self.create(FEDERATED_TYPE_CONFIG.kind, [deployments()])
        self.cpu = workloads * 100 * 2 // clusters
        self.create(FEDERATED_CLUSTER.kind, [self.cluster(at) for at in range(clusters)])
        self.create(PROPAGATION_POLICY.kind, [policy(at, clusters) for at in range(clusters)])
        self.loop.step()

    def create(self, kind: Kind, bodies: list[dict[str, Any]]) -> None:
        """Create objects."""
        for reply in self.store.create(kind, [msgspec.json.encode(each) for each in bodies]):
            assert reply.outcome is WriteOutcome.OK, reply

    def cluster(self, number: int) -> dict[str, Any]:
        """A FederatedCluster that has joined."""
        rng = Rng(number)
        given = {"cpu": str(self.cpu), "memory": f"{4 * self.cpu}Gi"}
        free = self.cpu - rng.randint(0, self.cpu // 5)
        joined = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        return {
            "metadata": {"name": f"c{number:04}", "labels": {"region": f"r{number % 10}"}},
            "spec": {"apiEndpoint": f"https://c{number:04}"},
            "status": {
                "conditions": [{"type": each, **joined} for each in ("Joined", "Ready")],
                "apiResourceTypes": [
                    {"group": "apps", "version": "v1", "kind": "Deployment"},
                    *({"group": "", "version": "v1", "kind": f"Kind{at}"} for at in range(40)),
                ],
                "resources": {"allocatable": given, "available": {**given, "cpu": str(free)}},
            },
        }

    def add(self, first: int, count: int) -> None:
        """Create federated objects."""
        made = [federated(at, self.policies) for at in range(first, first + count)]
        self.spaces |= {x["metadata"]["name"]: x["metadata"]["namespace"] for x in made}
        self.create(FEDERATED_OBJECT.kind, made)

    @property
    def policies(self) -> int:
        """Number of policies."""
        return len(list(self.fleet.clusters))

    def step(self) -> None:
        """Schedule all that is due."""
        while self.loop.step():
            pass
        assert not self.loop.errors, self.loop.errors


def deployments() -> dict[str, Any]:
    """The kind; nothing but the scheduler works on its objects."""
    config = next(iter(default_types()))
    return {**config, "spec": {**config["spec"], "controllers": [[names.SCHEDULER]]}}


def policy(number: int, clusters: int) -> dict[str, Any]:
    """Eight clusters of a region; every second policy has weights."""
    rng = Rng(number)
    listed = [f"c{(number + at) % clusters:04}" for at in range(min(IN_POLICY, clusters))]
    weights = [{"weight": rng.randint(1, 10)} if number % 2 else {} for _ in listed]
    return {
        "metadata": {"name": f"p{number}", "namespace": space_of(number)},
        "spec": {
            "schedulingMode": "Divide",
            "placement": [
                {"cluster": name, "preferences": each}
                for name, each in zip(listed, weights, strict=True)
            ],
        },
    }


def space_of(policy: int) -> str:
    """The namespace of a policy and its objects; a shard consists of whole namespaces."""
    return f"team-{policy % SPACES}"


def federated(number: int, policies: int) -> dict[str, Any]:
    """The federated object of a Deployment."""
    rng = Rng(number)
    requests = {"requests": {"cpu": "1", "memory": "2Gi"}}
    pod = {"containers": [{"name": "main", "image": "app:v1", "resources": requests}]}
    pipeline = f'[["{names.SCHEDULER}"]]'
    at = rng.randint(0, policies - 1)
    return {
        "metadata": {
            "name": f"w{number}-deployments.apps",
            "namespace": space_of(at),
            "labels": {names.POLICY: f"p{at}"},
            "annotations": {names.PENDING: pipeline},
        },
        "spec": {
            "template": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": f"w{number}", "namespace": space_of(at)},
                "spec": {"replicas": rng.randint(10, 190), "template": {"spec": pod}},
            }
        },
    }


def measure(clusters: int, workloads: int, shards: int) -> dict[str, float]:
    """Seconds, sizes and memory."""
    host = FleetHost(clusters, workloads, shards)
    seconds, started = 0.0, wall_clock()
    for first in range(0, workloads, BATCH):
        host.add(first, min(BATCH, workloads - first))
        begin = process_time()
        host.step()
        seconds += process_time() - begin
    wall = wall_clock() - started
    changes = median(_rescaled(host, min(5000, workloads)) for _ in range(ROUNDS))
    reported = _reported(host)
    stored = (msgspec.json.decode(x.body) for x in host.store.list(FEDERATED_OBJECT.kind).records)
    notes = (each["metadata"]["annotations"] for each in stored)
    return {
        "shards": shards,
        "clusters": clusters,
        "workloads": workloads,
        "seconds": round(seconds, 2),
        "wall_seconds": round(wall, 2),
        "per_second": round(workloads / seconds, 1),
        "changes_per_second": round(changes, 1),
        "report_ms": round(1000 * reported, 1),
        "trigger_bytes": max(len(each.get(names.TRIGGERS, "")) for each in notes),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def _rescaled(host: FleetHost, count: int) -> float:
    """Changes of replicas per second, of objects that run."""
    kind = FEDERATED_OBJECT.kind
    changes = []
    for number in range(count):
        name = f"w{number}-deployments.apps"
        record = host.store.get(kind, host.spaces[name], name)
        assert record is not None
        replicas = msgspec.json.decode(record.body)["spec"]["template"]["spec"]["replicas"]
        spec = {"template": {"spec": {"replicas": replicas + 7}}}
        changes.append(Patch(host.spaces[name], name, {"spec": spec}))
    begin = process_time()
    host.store.patch(kind, changes)
    host.step()
    return count / (process_time() - begin)


def _reported(host: FleetHost) -> float:
    """Seconds until the report of one cluster has had its effect."""
    resources = {"available": {"cpu": str(host.cpu)}}
    begin = process_time()
    patch = Patch("", "c0000", {"status": {"resources": resources}})
    host.store.patch_status(FEDERATED_CLUSTER.kind, [patch])
    host.step()
    return process_time() - begin


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, nargs="+", default=[5, 50, 500, 1000])
    parser.add_argument("--workloads", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    points = [measure(each, args.workloads[0], n) for each in args.clusters for n in args.shards]
    points += [measure(500, each, args.shards[0]) for each in args.workloads[1:]]
    store("fleet-changes", {"commit": commit(), "machine": machine(), "points": points})


if __name__ == "__main__":
    main()
