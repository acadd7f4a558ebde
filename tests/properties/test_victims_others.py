"""Victims required by inter-pod rules: kube-scheduler's, and those of a dry run of every node."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import POD, POD_DISRUPTION_BUDGET
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.framework.compiled.one_node import PreemptionDryRun, Preemptor, VictimCandidate, best
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.groups.stage import GroupStage
from stretto.framework.kernels.tiers import has_numba
from stretto.framework.parity.decision import Decision
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.framework.preemption.explain import preemption_words
from stretto.framework.preemption.finder import VictimFinder
from stretto.framework.preemption.terms import PriorityTerms
from stretto.framework.preemption.tiers import search_of
from stretto.framework.profile.profile import load_profile
from stretto.state.ingest.whole_objects import apply_objects
from stretto.state.rows.lifecycle import PodState
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import NO_ROWS, Plan
from stretto.state.work.evictions import EvictionCause, PendingEviction
from stretto.stores.store import WatchEvent
from stretto.testing import make_pod
from tests.properties import between_world
from tests.properties.between_world import Shape, shapes
from tests.support.hand_fed_cluster import ADDED, MODIFIED

TIERS = ["numpy", *(["numba"] if has_numba() else [])]
PRIORITIES = (0, 3, 3, 7, 20)
CLAIMS = "no new claims to deallocate, "
"""The earlier message of kube-scheduler's plugin for dynamic resources."""


class World(between_world.World):
    """Pods with terms about other pods, of many priorities, on nodes that are nearly full."""

    def __init__(self, shape: Shape, *, budgets: bool = False, hard: bool = False) -> None:
        super().__init__(shape)
        rules = {"budgets": "hard" if hard else "best-effort"}
        profile = load_profile({"profiles": [{"stretto": {"preemption": rules}}]})
        self.runtime = Runtime(
            CompiledProfile(profile, self.cluster), Rng(1), "numpy", lambda r: [GroupStage(r)]
        )
        self.ledger = BudgetLedger(self.cluster)
        for app in "ab" if budgets else "":
            self.budget(app, self.pick((0, 1, 2)))

    def add_pod(self, node: str = "", priority: int | None = None) -> str:
        name = f"p{self.count}"
        self.count += 1
        space, labels, spec = self.pick(self.forms)
        if self.chance(0.2):
            labels = self.labels()
        priority = self.pick(PRIORITIES) if priority is None else priority
        cpu = self.pick(("100m", "700m", "1500m"))
        more: dict[str, Any] = {"priority": priority, "cpu": cpu, "labels": labels, "spec": spec}
        body = json.loads(make_pod(name, namespace=space, **more))
        body["status"] = {"phase": "Running", "startTime": timestamp(float(self.count))}
        if node:
            body["spec"]["nodeName"] = node
        self.pods[name] = json.dumps(body).encode()
        event = WatchEvent(ADDED, self.feed.record(POD, self.pods[name], node=node))
        self.feed.ingest.pods([event], float(self.count))  # started at the time in the body
        return name

    def budget(self, app: str, allowed: int) -> None:
        spec = {"selector": {"matchLabels": {"app": app}}, "minAvailable": 1}
        body: dict[str, Any] = {"metadata": {"name": app, "namespace": "one", "uid": app}}
        body |= {"spec": spec, "status": {"disruptionsAllowed": allowed}}
        record = self.feed.record(POD_DISRUPTION_BUDGET, json.dumps(body).encode())
        apply_objects(self.cluster, POD_DISRUPTION_BUDGET, [WatchEvent(MODIFIED, record)])

    def disturb(self) -> None:
        """Mark a pod as being evicted, or as a claim that waits for its own victims."""
        pods = self.cluster.pods
        bound = [row for row in pods.rows().tolist() if pods.slot[row] >= 0]
        if not bound:
            return
        row = self.pick(bound)
        if self.chance(0.5):
            why = PendingEviction(
                int(pods.serial[row]), int(pods.slot[row]), EvictionCause.RECLAIM, ""
            )
            self.cluster.evictions.begin(row, why)
        else:
            pods.state[row] = PodState.NOMINATED
        pods.log.add(row)

    def finder(self, tier: str) -> VictimFinder:
        """A finder at the beginning of a cycle."""
        self.runtime.sync()
        terms = PriorityTerms(self.cluster, self.runtime.engine.profile.preemption)
        finder = VictimFinder(self.runtime, terms, self.ledger, ManualClock(), search_of(tier))
        nothing = np.zeros(0, np.int32)
        finder.begin(Plan(0, NO_ROWS, NO_ROWS, nothing, NO_ROWS, NO_ROWS, nothing, [], []))
        return finder

    def plainly(self, finder: VictimFinder, row: int) -> list[VictimCandidate]:
        """Every node on which evictions could free capacity, dry-run with every rule."""
        pods = self.cluster.pods
        preemptor = Preemptor(int(pods.class_id[row]), int(pods.priority[row]))
        holds = finder._others.holds(preemptor.class_id, [])
        wanted = finder._search._demand.wanted(preemptor)
        if not wanted.bands:
            return []
        rehearsal = PreemptionDryRun(self.cluster, finder.rules, self.ledger, 0.0, holds)
        slots = np.flatnonzero(wanted.admitted).tolist()
        return [c for slot in slots if (c := rehearsal.on_slot(preemptor, slot)) is not None]

    def upstream(self, name: str) -> Decision:
        return ExactScheduler(self.snapshot()).decide(self.pod(name))

    def reported(self, candidate: VictimCandidate) -> tuple[str, list[str]]:
        """A candidate in names."""
        names = self.cluster.pods.name
        node = self.cluster.nodes.names[candidate.slot]
        return node, sorted(names[row] for row in candidate.victims)


def check_upstream(shape: Shape) -> None:
    """Each node's verdict and victims are those of kube-scheduler, and so is the best node."""
    world = World(shape)
    for _ in range(shape.steps):
        world.add_pod(world.pick(sorted(world.nodes)))
        name = world.add_pod(priority=world.pick((5, 10, 100)))
        decision, finder = world.upstream(name), world.finder("numpy")
        found = finder.find(world.feed.row(name)).candidate
        if len(decision.feasible) or decision.preemption is None:
            continue
        every = world.plainly(finder, world.feed.row(name))
        wanted = [
            (c.node, sorted(v.key[1] for v in c.victims)) for c in decision.preemption.candidates
        ]
        assert sorted(map(world.reported, every)) == sorted(wanted)
        if found is None:
            assert not wanted
            continue
        assert decision.preemption.chosen is not None
        tied = {decision.preemption.chosen.node, *decision.preemption.tied}
        assert world.reported(found) in [each for each in wanted if each[0] in tied]


@given(shapes)
@settings(max_examples=25)
def test_victims_are_those_of_kube_scheduler(shape: Shape) -> None:
    check_upstream(shape)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(shapes)
@settings(max_examples=3000)
def test_victims_are_those_of_kube_scheduler_at_length(shape: Shape) -> None:
    check_upstream(shape)


@given(shapes, st.booleans(), st.booleans(), st.sampled_from(TIERS))
@settings(max_examples=25)
def test_the_search_finds_what_rehearsing_every_node_finds(
    shape: Shape, budgets: bool, hard: bool, tier: str
) -> None:
    world = World(shape, budgets=budgets, hard=hard)
    for _ in range(shape.steps):
        world.happen()
        world.disturb()
        name = world.add_pod(priority=world.pick((5, 10, 100)))
        finder, row = world.finder(tier), world.feed.row(name)
        found = finder.find(row).candidate
        every = world.plainly(finder, row)
        rehearsal = PreemptionDryRun(world.cluster, finder.rules, world.ledger, 0.0)
        plain = best(rehearsal, every)
        assert _parts(found) == _parts(plain)


@given(shapes)
@settings(max_examples=25)
def test_useless_preemption_is_explained_as_by_kube_scheduler(shape: Shape) -> None:
    world = World(shape)
    for _ in range(shape.steps):
        world.add_pod(world.pick(sorted(world.nodes)))
        name = world.add_pod(priority=world.pick((5, 10, 100)))
        decision, row = world.upstream(name), world.feed.row(name)
        if len(decision.feasible) or decision.preemption is None:
            continue
        engine = world.runtime.engine
        terms = PriorityTerms(engine.cluster, engine.profile.preemption)
        said = preemption_words(engine, world.ledger, row, 0.0, terms)
        theirs = decision.preemption.message.removeprefix(CLAIMS)
        assert (said.message if said else "") == ("" if decision.preemption.chosen else theirs)


def _parts(found: VictimCandidate | None) -> object:
    if found is None:
        return None
    return found.slot, found.victims, found.beyond, set(found.displaced)
