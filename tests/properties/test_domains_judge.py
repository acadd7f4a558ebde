"""First claim wins between pods too: what the judge grants, the exact path would allow just then.

Several shards plan on snapshots of the same moment; their plans are judged one after the other
while others' events come in between. Each granted claim is put to the exact path on the cluster as
it was when the claim was granted, and each one that other pods are said to stand against as well.
"""

import pytest
from hypothesis import given, settings

from stretto.base.rng import Rng
from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.framework.affinity.recheck import ClaimRecheck
from stretto.framework.compiled.placement import PlacementRequest
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.engine.runtime import Runtime
from stretto.framework.kernels.tiers import has_numba, kernel
from stretto.framework.parity.scheduler import ExactScheduler
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import CommitMode, ConflictCause, ConflictMode, Plan
from tests.properties.between_world import Shape, World, shapes
from tests.support.plans import plan_of, wait_for


class Court:
    """A world with shards and a judge."""

    def __init__(self, shape: Shape) -> None:
        self.world = World(shape)
        self.engine = CompiledProfile(load_profile("default"), self.world.cluster)
        tier = "numba" if has_numba() and shape.seed % 2 else "numpy"
        referee = ClaimRecheck(self.engine.between, self.world.cluster, kernel(tier).recheck)
        checks = ClaimChecks(self.engine.is_eligible, referee)
        mode = CommitMode.INCREMENTAL
        self.judge = PlanJudge(self.world.cluster, checks, ConflictMode.FIT, mode)
        self.shards = [Runtime(self.engine, Rng(n), "numpy") for n in range(2)]

    def propose(self, shard: Runtime) -> Plan:
        """A plan for some new pods."""
        world, cluster = self.world, self.world.cluster
        names = [world.add_pod() for _ in range(int(world.rng.integers(1, 5)))]
        wait_for(world.feed, *names)
        rows = [world.feed.row(name) for name in names]
        shard.sync()
        count = len(names)
        placement = shard.place(
            PlacementRequest(cluster.pods.class_id[rows], list(range(count + 1)), [1] * count)
        )
        nodes = cluster.nodes.names
        pairs = zip(names, placement.slots.tolist(), strict=True)
        claims = {name: nodes[slot] for name, slot in pairs if slot >= 0}
        return plan_of(world.feed, claims)._replace(others=placement.others)

    def check(self, plan: Plan) -> int:
        """Judge a plan, put each answer to the exact path in turn; claims others stood against."""
        world, pods = self.world, self.world.cluster.pods
        truth = ExactScheduler(world.snapshot())
        judgement = self.judge.judge(plan)
        granted = set(plan.rows[judgement.granted].tolist())
        causes = {row: cause for _, rows, cause in judgement.refused for row in rows}
        for row, slot in zip(plan.rows.tolist(), plan.slots.tolist(), strict=True):
            name, node = pods.name[row], world.cluster.nodes.names[slot]
            decision = truth.decide(world.pod(name), may_preempt=False)
            allowed = node in {decision.names[at] for at in decision.feasible.tolist()}
            if row in granted:
                assert allowed
                truth.assume(decision, node)
                pods.state[row] = PodState.ASSUMED
            elif causes.get(row) is ConflictCause.INTER_POD_RULE_BROKEN:
                assert not allowed
        return sum(cause is ConflictCause.INTER_POD_RULE_BROKEN for cause in causes.values())


def live_through(shape: Shape) -> int:
    """Plans made side by side, judged one by one; how many claims other pods stood against."""
    court, against = Court(shape), 0
    for _ in range(shape.steps):
        plans = [court.propose(shard) for shard in court.shards]
        for plan in plans:
            against += court.check(plan)
            if court.world.chance(0.3):
                court.world.happen()
    return against


@pytest.mark.timeout(300)
@given(shapes)
@settings(max_examples=25)
def test_what_is_granted_breaks_no_rule_between_pods(shape: Shape) -> None:
    live_through(shape)


@pytest.mark.timeout(300)
def test_shards_do_get_in_each_others_way() -> None:
    assert sum(live_through(Shape(seed, 5, 2, 2, 3, 6)) for seed in range(12)) > 1
