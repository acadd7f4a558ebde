"""Random clusters for the search for victims, fed by hand, and the plain answer to compare with."""

import json
from typing import Any

import numpy as np

from stretto.api import codec
from stretto.api.types.core import Node
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET
from stretto.base.clock import timestamp
from stretto.base.rng import Rng
from stretto.framework.compiled.one_node import PreemptionDryRun, Preemptor, VictimCandidate
from stretto.framework.kernels.numpy.victims import (
    VictimDemand,
    VictimIndex,
    VictimSearchHit,
    VictimSearchLimits,
    budget_standing_of,
    set_arrays,
)
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.parity.decision import Decision
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.state.ingest.whole_objects import apply_objects
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.index import Victims
from stretto.state.victims.rules import PreemptionRules
from stretto.state.work.evictions import EvictionCause, PendingEviction
from stretto.stores.store import WatchEvent
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import ADDED, DELETED, MODIFIED, ClusterFeed

PRIORITIES = (-5, 0, 3, 7, 7, 100)
APPS = ("web", "db", "batch")


CALM = ("come", "come", "go", "budget", "node")
"""Changes of a cluster that kube-scheduler's search can process."""
KINDS = (*CALM, "leave", "wait")


class World(ClusterFeed):
    """Nodes full of pods of many priorities, some under budgets, some terminating or nominated."""

    def __init__(self, seed: int, *, budgets: bool = True, hard: bool = False) -> None:
        self.rng = Rng(seed)
        nodes = [make_node(f"n{i}", cpu=str(self.rng.randint(2, 8))) for i in range(8)]
        super().__init__(*nodes)
        self.nodes = {f"n{i}": body for i, body in enumerate(nodes)}
        self.bodies: dict[str, bytes] = {}
        self.made = 0
        self.now = 0.0
        for name in APPS if budgets else ():
            self.budget(name, self.rng.randint(0, 2))
        self.rules = PreemptionRules(hard_budgets=hard)
        self.budgets = BudgetLedger(self.cluster)
        self.victims = Victims(self.cluster, self.rules, self.budgets)
        for _ in range(self.rng.randint(5, 40)):
            self.come()

    def budget(self, app: str, allowed: int) -> None:
        spec = {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1}
        body: dict[str, Any] = {"metadata": {"name": app, "namespace": "default", "uid": app}}
        body |= {"spec": spec, "status": {"disruptionsAllowed": allowed}}
        record = self.record(POD_DISRUPTION_BUDGET, json.dumps(body).encode())
        apply_objects(self.cluster, POD_DISRUPTION_BUDGET, [WatchEvent(MODIFIED, record)])

    def come(self) -> None:
        """A pod on a node."""
        self.made += 1
        self.now += 1.0
        body = make_pod(
            f"p{self.made}",
            cpu=f"{self.rng.choice((100, 500, 900, 1500))}m",
            memory=f"{self.rng.choice((64, 512, 3000))}Mi",
            priority=self.rng.choice(PRIORITIES),
            node=f"n{self.rng.randint(0, 7)}",
            labels={"app": self.rng.choice((*APPS, "none"))},
        )
        whole = json.loads(body)
        whole["status"] = {"phase": "Running", "startTime": timestamp(self.now)}
        body = json.dumps(whole).encode()
        self.bodies[f"p{self.made}"] = body
        self.ingest.pods([WatchEvent(ADDED, self.record_of(body))], self.now)

    def record_of(self, body: bytes) -> Any:
        node = json.loads(body)["spec"].get("nodeName", "")
        return self.record(POD, body, node=node)

    def change(self, kinds: tuple[str, ...] = KINDS) -> None:
        """Anything that may happen to a pod, a budget or a node."""
        rows = self.cluster.pods.rows().tolist()
        kind = self.rng.choice(kinds)
        row = self.rng.choice(rows) if rows else -1
        pods = self.cluster.pods
        if kind == "come" or row < 0:
            self.come()
        elif kind == "go":
            self.bodies.pop(pods.name[row], None)
            self.pod(make_pod(pods.name[row]), DELETED)
        elif kind == "leave":
            why = PendingEviction(
                int(pods.serial[row]), int(pods.slot[row]), EvictionCause.RECLAIM, ""
            )
            self.cluster.evictions.begin(row, why)
            pods.log.add(row)
        elif kind == "wait":
            pods.state[row] = PodState.NOMINATED
            pods.log.add(row)
        elif kind == "budget" and self.budgets:
            self.budget(self.rng.choice(APPS), self.rng.randint(0, 2))
        elif kind == "node":
            name = f"n{self.rng.randint(0, 7)}"
            self.nodes[name] = make_node(name, cpu=str(self.rng.randint(2, 8)))
            self.node(self.nodes[name], MODIFIED)

    def preemptor(self) -> Preemptor:
        """A pod that requests capacity."""
        body = make_pod("x", cpu=f"{self.rng.choice((500, 2000, 3900))}m", memory="700Mi")
        return Preemptor(self.class_of(body), self.rng.choice((1, 7, 8, 1000)))

    def wanted(self, preemptor: Preemptor) -> VictimDemand:
        amounts = self.cluster.classes.requests_of(np.array([preemptor.class_id], np.int32))[0]
        columns = np.flatnonzero(amounts).astype(np.int32)
        bands = self.victims.bands_below(preemptor.priority)
        live = self.cluster.ledger.slots.live.copy()
        return VictimDemand(columns, amounts[columns], preemptor.priority, bands, live)

    @property
    def index(self) -> VictimIndex:
        victims = self.victims
        return VictimIndex(victims.entries, victims.sums, victims.requests, victims.largest)

    @property
    def limits(self) -> VictimSearchLimits:
        left, sets = self.budgets.remaining, self.victims.sets
        arrays = set_arrays(sets)
        standing = budget_standing_of(arrays, left, self.victims.most)
        return VictimSearchLimits(left, sets, arrays, standing, self.rules.hard_budgets)

    def plainly(self, preemptor: Preemptor) -> VictimCandidate | None:
        """The best of all nodes, rehearsed one by one."""
        rehearsal = PreemptionDryRun(self.cluster, self.rules, self.budgets, self.now)
        live = np.flatnonzero(self.cluster.ledger.slots.live).tolist()
        found = [rehearsal.on_slot(preemptor, slot) for slot in live]
        return min(
            (each for each in found if each is not None and self.has_lower(each.slot, preemptor)),
            key=lambda each: (rehearsal.key(each), each.slot),
            default=None,
        )

    def as_upstream_decides(self, preemptor: Preemptor) -> Decision:
        """kube-scheduler's own decision about the same pod in the same cluster."""
        nodes = [codec.decode_as(Node, body) for body in self.nodes.values()]
        pods = [codec.decode_as(Pod, body) for body in self.bodies.values()]
        snapshot = ParitySnapshot(nodes, pods, self.cluster.objects.budgets.values())
        amounts = self.cluster.classes[preemptor.class_id].requests
        cpu, memory = (amount for _, amount in amounts)
        body = make_pod("new", cpu=f"{cpu}m", memory=str(memory), priority=preemptor.priority)
        return ExactScheduler(snapshot).decide(codec.decode_as(Pod, body))

    def has_lower(self, slot: int, preemptor: Preemptor) -> bool:
        """Return whether a band below the preemptor's exists; otherwise nothing is searched."""
        return self.victims.bands_below(preemptor.priority) > 0


def same(hit: VictimSearchHit | None, plain: VictimCandidate | None) -> bool:
    if hit is None or plain is None:
        return hit is None and plain is None
    return (hit.slot, hit.victims, hit.beyond, set(hit.displaced)) == (
        plain.slot,
        plain.victims,
        plain.beyond,
        set(plain.displaced),
    )
