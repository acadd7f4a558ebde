"""Victims where filters with a Python form decide: those of a dry run on a cluster without them.

The reference deletes the victims from a second cluster with the same history and asks the filters
there.
"""

import json
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.framework.compiled.one_node import PreemptionDryRun, Preemptor, VictimCandidate
from stretto.framework.contract.rule import BoolArray, FilterRule, Scope, SlotArray, View
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.stage import GroupStage
from stretto.framework.preemption.finder import VictimFinder
from stretto.framework.preemption.terms import PriorityTerms
from stretto.framework.preemption.tiers import search_of
from stretto.framework.profile.guard import guard
from stretto.framework.profile.profile import Profile, load_profile
from stretto.state.classes.table import PodClass
from stretto.state.ingest.node_reports import apply_reports
from stretto.state.rows.resources import MEMORY
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import NO_ROWS, Plan
from stretto.stores.store import WatchEvent
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import DELETED, MODIFIED, ClusterFeed

MIB = 1 << 20
NODES = 4


class KeepsMemory(FilterRule):
    """Keeps 2 GiB of every node free."""

    NAME, SCOPE = "KeepsMemory", Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        used = view.columns.ledger.used[slots, MEMORY]
        alloc = view.columns.ledger.alloc[slots, MEMORY]
        return (alloc - used >= 2048 * MIB) & (view.columns.free[MEMORY, slots] > 0)


class KeepsMemoryOverDomains(KeepsMemory):
    """The same, as a rule that is evaluated at every decision."""

    NAME, SCOPE = "KeepsMemoryOverDomains", Scope.DOMAIN


class FewPorts(FilterRule):
    """Refuses nodes on which a host port is in use."""

    NAME, SCOPE = "FewPorts", Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        return ~view.columns.ports[:, slots].any(axis=0)


def by_load(**args: Any) -> Profile:
    plugins = {"filter": {"enabled": [{"name": "LoadAware"}]}}
    config = [{"name": "LoadAware", "args": args}]
    return load_profile({"profiles": [{"plugins": plugins, "pluginConfig": config}]})


def by_rule(rule: FilterRule) -> Profile:
    profile = load_profile("default")
    return msgspec.structs.replace(profile, filters=(*profile.filters, guard(rule)))


PROFILES = {
    "load": by_load(usageThresholds={"cpu": 65, "memory": 60}),
    "percentile": by_load(aggregated={"usageAggregationType": "p90"}),
    "amounts": by_rule(KeepsMemory({})),
    "domains": by_rule(KeepsMemoryOverDomains({})),
    "ports": by_rule(FewPorts({})),
}


class LoadedWorld(ClusterFeed):
    """Nodes with reports, pods that came before and after them, and pods that left since."""

    def __init__(self, seed: int, profile: Profile) -> None:
        super().__init__(*(make_node(f"n{i}", cpu="4", memory="12Gi") for i in range(NODES)))
        engine = CompiledProfile(profile, self.cluster)
        self.runtime = Runtime(engine, Rng(1), "numpy", lambda r: [GroupStage(r)])
        self.seed, self.profile, rng = seed, profile, Rng(seed)
        pods = [self.draw(rng, f"p{i}") for i in range(rng.randint(10, 24))]
        self.report(rng)
        for name in sorted({rng.choice(pods) for _ in range(rng.randint(0, 2))}):
            self.pod(make_pod(name), DELETED)
        for i in range(rng.randint(0, 6)):
            self.draw(rng, f"late{i}")
        self.form = {"cpu": f"{rng.choice((500, 2000, 3000))}m", "memory": "1Gi"}

    def draw(self, rng: Rng, name: str) -> str:
        requests = {"cpu": f"{rng.choice((200, 900, 2000))}m", "memory": f"{rng.choice((1, 4))}Gi"}
        ports = [8080] if rng.random() < 0.2 else []
        node, priority = f"n{rng.randint(0, NODES - 1)}", rng.choice((0, 3, 7, 100))
        self.pod(make_pod(name, **requests, priority=priority, node=node, ports=ports))
        return name

    def report(self, rng: Rng) -> None:
        for number in range(NODES):
            pods = [
                k
                for r in self.cluster.pods.on_slot(self.slot(f"n{number}")).tolist()
                if rng.random() < 0.8 and (k := self.cluster.pods.key(r))
            ]
            use = {"cpu": f"{rng.randint(1, 40)}00m", "memory": f"{rng.randint(1, 12)}Gi"}
            group: dict[str, Any] = {"podList": pods}
            if rng.random() < 0.5:
                group["genericUsage"] = {"cpu": f"{rng.randint(1, 30)}00m", "memory": "2Gi"}
            metric = {"updateTime": timestamp(60.0), "nodeMetric": {"genericUsage": use}}
            if rng.random() < 0.7:
                metric["groupMetric"] = [group]
            status = {"nodeMetricStatus": metric}
            body = json.dumps({"metadata": {"name": f"n{number}"}, "status": status}).encode()
            record = self.record(CUSTOM_NODE_RESOURCE, body)
            apply_reports(self.cluster, [WatchEvent(MODIFIED, record)])

    def finder(self) -> VictimFinder:
        self.runtime.sync()
        terms = PriorityTerms(self.cluster, self.profile.preemption)
        finder = VictimFinder(
            self.runtime, terms, BudgetLedger(self.cluster), ManualClock(), search_of("numpy")
        )
        none = np.zeros(0, np.int32)
        finder.begin(Plan(0, NO_ROWS, NO_ROWS, none, NO_ROWS, NO_ROWS, none, [], []))
        return finder

    def accepts(self, slot: int, gone: frozenset[str]) -> bool:
        """Return the results of the filters in an equal cluster without the deleted pods."""
        other = LoadedWorld(self.seed, self.profile)
        for name in gone:
            other.pod(make_pod(name), DELETED)
        pod = other.cluster.classes[other.class_of(make_pod("x", **other.form))]
        other.runtime.sync()
        slots = np.array([slot], np.int64)
        filters = other.profile.python_filters
        return all(bool(each.filter(pod, other.runtime.view, slots)[0]) for each in filters)

    def plainly(self, preemptor: Preemptor) -> VictimCandidate | None:
        """The best of all nodes, each simulated with the filters of another cluster."""
        names, budgets = self.cluster.pods.name, BudgetLedger(self.cluster)
        holds = lambda slot, gone: self.accepts(slot, frozenset(names[row] for row in gone))
        rehearsal = PreemptionDryRun(self.cluster, self.profile.preemption, budgets, 0.0, holds)
        found = [rehearsal.on_slot(preemptor, slot) for slot in range(NODES)]
        known = [each for each in found if each is not None]
        return min(known, key=lambda each: (rehearsal.key(each), each.slot), default=None)


@pytest.mark.parametrize("name", PROFILES)
def test_the_filters_accept_the_node_without_the_victims(name: str) -> None:
    @settings(max_examples=6)
    @given(st.integers(0, 1 << 30), st.sampled_from([5, 10, 1000]))
    def holds(seed: int, priority: int) -> None:
        world = LoadedWorld(seed, PROFILES[name])
        world.pod(make_pod("x", **world.form, priority=priority))
        row = world.row("x")
        found = world.finder().find(row).candidate
        plain = world.plainly(Preemptor(int(world.cluster.pods.class_id[row]), priority))
        assert found == plain

    holds()
