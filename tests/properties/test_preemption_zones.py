"""Pods with NUMA nodes and GPUs preempt one another: after any events the ledger agrees."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, POD
from stretto.base.rng import Rng
from stretto.state.queries.invariants import overcommitted
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod, make_report, numa_notes

ZONE = {"cpu": "8", "memory": "16Gi"}
GPUS = [(0, 1), (2, 3), (4, 5), (6, 7)]


class Floor:
    """Machines of four NUMA nodes and eight GPUs, and pods of five priorities on them."""

    def __init__(self, seed: int) -> None:
        self.rng = Rng(seed)
        names = "abc"[: self.rng.randint(1, 3)]
        nodes = [make_node(name, cpu="32", memory="64Gi", gpus=8) for name in names]
        shards = self.rng.randint(1, 2)
        self.harness = Harness(nodes, config={"tier": "numpy", "shards": shards})
        reports = [make_report(name, [ZONE] * 4, gpus=GPUS) for name in names]
        self.harness.create(CUSTOM_NODE_RESOURCE, *reports)
        self.held: list[str] = []
        self.made = 0

    def turn(self) -> None:
        """One pod arrives, is deleted or ends its eviction; then check the laws."""
        rng, harness = self.rng, self.harness
        drawn = rng.random()
        if drawn < 0.6:
            self.come()
        elif drawn < 0.75 and harness.placements():
            harness.delete(rng.choice(sorted(harness.placements())))
        elif self.held:
            self.finish_eviction(rng.choice(self.held))
        harness.settle(rng.choice((0.0, 0.0, 1.0, 5.0)))
        self.check()

    def come(self) -> None:
        rng, more, count = self.rng, dict[str, Any](), 1
        if rng.random() < 0.25:
            count, more["group"] = rng.randint(2, 3), f"g{self.made}"
            self.harness.group(more["group"], count)
        if rng.random() < 0.75:
            more["annotations"] = numa_notes(exclusive=rng.random() < 0.4)
        more |= {"priority": rng.randint(0, 4), "gpus": rng.choice((0, 0, 1, 2))}
        cpu = str(rng.randint(1, 8))
        for _ in range(count):
            self.made += 1
            name = f"p{self.made}"
            body = msgspec.json.decode(make_pod(name, cpu=cpu, memory="1Gi", **more))
            if count == 1 and rng.random() < 0.3:
                body["metadata"]["finalizers"] = ["stretto.dev/test"]
                self.held.append(name)
            self.harness.submit(msgspec.json.encode(body))

    def finish_eviction(self, name: str) -> None:
        self.held.remove(name)
        free = {"metadata": {"finalizers": None}}
        self.harness.store.patch(POD, [Patch("default", name, free)])

    def check(self) -> None:
        plane, cluster = self.harness.plane, self.harness.plane.cluster
        assert (self.harness.breaches(), plane.dispatcher.audit()) == ([], [])
        if not cluster.nominations.by_row:
            assert overcommitted(cluster) == []

    def end(self) -> Counter[str]:
        """End all evictions; every pod with NUMA requests is on a node with NUMA nodes."""
        for name in list(self.held):
            self.finish_eviction(name)
        self.harness.settle(200)
        self.check()
        cluster = self.harness.plane.cluster
        placed = [row for row in cluster.pods.rows().tolist() if cluster.pods.slot[row] >= 0]
        for row in placed:
            if cluster.classes[int(cluster.pods.class_id[row])].annotations.numa is not None:
                assert cluster.topology.holdings[row].parts
        return self.harness.plane.evictor.counts


def played(seed: int) -> Counter[str]:
    floor = Floor(seed)
    for _ in range(40):
        floor.turn()
    return floor.end()


@pytest.mark.parametrize("seed", range(5))
def test_pods_of_numa_nodes_evict_others_and_the_ledger_agrees(seed: int) -> None:
    counts = played(seed)
    assert counts["no longer fits"] <= 1 + counts["nominated"] // 10


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_same_for_many_seeds() -> None:
    total: Counter[str] = Counter()
    for seed in range(100, 300):
        total.update(played(seed))
    assert total["nominated"] > 1000
    assert total["no longer fits"] <= total["nominated"] // 10
