"""Controllers that start over a fleet whose workloads run: memory, and time until all is read.

    python bench/fleet_restart.py [--clusters N] [--workloads N]

Writes ``bench/results/fleet-restart-COMMIT.json``. One workload of each policy is propagated by the
controllers. Its objects on the host and in two members are copied under other names, and then all
controllers start in one process with the stores. Each of them looks at each object once. Resident
memory includes the stores, which a real federation does not hold.
"""

import argparse
import re
from collections.abc import Iterator
from time import process_time

import msgspec
from fleet_memory import HISTORY, StoreConnector, StoreMember, WholeFleet, resident
from record import commit, machine, store

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    FEDERATED_TYPE_CONFIG,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import DEPLOYMENT, NAMESPACE, Kind
from stretto.base.rng import Rng
from stretto.federation.assembly import Federation
from stretto.federation.objects.membership.kinds import SECRET
from stretto.federation.settings import FederationSettings
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch, Record, Store

UID = re.compile(rb'("uid":"[0-9a-f-]{28})[0-9a-f]{8}"')
"""A uid in a reference to an owner."""
TYPE = "deployments.apps"
"""Name of the configuration of Deployments."""
SHARED = (
    NAMESPACE,
    SECRET,
    FEDERATED_CLUSTER.kind,
    FEDERATED_TYPE_CONFIG.kind,
    PROPAGATION_POLICY.kind,
)
"""Kinds whose objects are not copied under other names."""

AT_ONCE = 1_000
"""Reconciliations of one step, as in the daemon."""


def propagated(clusters: int) -> WholeFleet:
    """A fleet in which one Deployment of each policy runs."""
    fleet = WholeFleet(clusters)
    fleet.add(0, clusters)
    fleet.settle()
    for member in fleet.members.values():
        member.store.patch_status(
            DEPLOYMENT, [ran(x) for x in member.store.list(DEPLOYMENT).records]
        )
    for _ in range(4):
        fleet.settle()
    return fleet


def ran(record: Record) -> Patch:
    """The status of a Deployment whose pods run."""
    spec = msgspec.json.decode(record.body)["spec"]
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    status = {"observedGeneration": 1, **dict.fromkeys(counts, spec["replicas"])}
    return Patch(record.namespace, record.name, {"status": status})


def copies(
    found: Store, kinds: tuple[Kind, ...], clusters: int, workloads: int
) -> Iterator[Record]:
    """The objects of a store, and those of the workloads also under the names of the others."""
    for kind in (*SHARED, *kinds):
        for record in found.list(kind).records:
            if kind in SHARED:
                yield record
                continue
            number = int(record.name.split("-")[0].removeprefix("w"))
            for other in range(number, workloads, clusters):
                yield renamed(record, number, other)


def renamed(record: Record, number: int, other: int) -> Record:
    """The object of another workload; all its objects have uids that follow from its number."""
    body = record.body
    for name in ("w{}", f"w{{}}-{TYPE}"):
        body = body.replace(f'"{name.format(number)}"'.encode(), f'"{name.format(other)}"'.encode())
    body = UID.sub(lambda found: found[1] + f'{other:08x}"'.encode(), body)
    name = record.name.replace(f"w{number}", f"w{other}", 1)
    return msgspec.structs.replace(
        record, name=name, uid=f"{record.uid[:-8]}{other:08x}", body=body
    )


def restarted(fleet: WholeFleet, workloads: int) -> Federation:
    """All controllers over copies of the stores of a fleet."""
    clusters = len(fleet.names)
    host = MemoryStore(fleet.clock, Rng(1), HISTORY)
    host.seed(copies(fleet.host, (DEPLOYMENT, FEDERATED_OBJECT.kind), clusters, workloads))
    members = {}
    for at, (name, member) in enumerate(fleet.members.items()):
        made = MemoryStore(fleet.clock, Rng(at + 2), HISTORY)
        made.seed(copies(member.store, (DEPLOYMENT,), clusters, workloads))
        members[name] = StoreMember(fleet.clock, at, made)
    settings = FederationSettings(health_period=1e6, health_threshold=0.0)
    return Federation(host, fleet.clock, settings, StoreConnector(members))


def measure(clusters: int, workloads: int) -> dict[str, float]:
    """Memory of stores and controllers, and processor time of the first look at every object."""
    fleet = propagated(clusters)
    federation = restarted(fleet, workloads)
    stores = resident()
    begin = process_time()
    for _ in range(8):
        while federation.loop.step(AT_ONCE):
            pass
        fleet.clock.advance(1.0)
    seconds = process_time() - begin
    assert not federation.loop.errors, federation.loop.errors
    written = sum(federation.deliveries.answers.values())
    return {
        "clusters": clusters,
        "workloads": workloads,
        "mib_of_stores": round(stores, 1),
        "mib": round(resident(), 1),
        "seconds": round(seconds, 1),
        "writes_to_members": written,
        "reconciliations": sum(federation.loop.counts.values()),
    }


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=500)
    parser.add_argument("--workloads", type=int, default=100_000)
    args = parser.parse_args()
    point = measure(args.clusters, args.workloads)
    print(point)
    store("fleet-restart", {"commit": commit(), "machine": machine(), "points": [point]})


if __name__ == "__main__":
    main()
