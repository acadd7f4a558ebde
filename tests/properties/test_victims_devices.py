"""A search for devices skips only nodes on which no eviction frees enough of them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.base.rng import Rng
from stretto.framework.compiled.one_node import PreemptionDryRun, Preemptor, VictimCandidate
from stretto.framework.kernels.numpy.victims import VictimDemand
from stretto.framework.preemption.demand import with_enough_devices
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.victims.rules import PreemptionRules
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import ClusterFeed
from tests.support.preemption_plane import high, low, running

MODELS = ("a100", "v100")
PRIORITIES = (1, 5, 9)


def world(rng: Rng) -> ClusterFeed:
    """Nodes of two models, with pods that use shares or whole devices."""
    feed = ClusterFeed(
        *[make_node(f"n{i}", gpus=rng.randint(0, 4), model=rng.choice(MODELS)) for i in range(6)]
    )
    for number in range(rng.randint(0, 24)):
        on = {"node": f"n{rng.randint(0, 5)}", "priority": rng.choice(PRIORITIES)}
        feed.pod(make_pod(f"p{number}", **on, **request(rng)))
    return feed


def request(rng: Rng) -> dict[str, Any]:
    """Options of a pod: devices, a share, allowed models, or none of them."""
    some: dict[str, Any] = {"gpus": rng.randint(0, 3), "cpu": "1m", "memory": "1Mi"}
    if some["gpus"] == 1 and rng.random() < 0.5:
        some["gpu_milli"] = rng.choice((300, 700))
    if rng.random() < 0.3:
        some["gpu_models"] = rng.choice(MODELS)
    return some


def everywhere(feed: ClusterFeed, preemptor: Preemptor) -> VictimDemand:
    none = np.zeros(0, np.int32)
    return VictimDemand(none, none, preemptor.priority, 1, feed.cluster.ledger.slots.live.copy())


@settings(max_examples=150)
@given(st.integers(0, 1 << 30))
def test_a_skipped_node_has_no_victims_whose_devices_suffice(seed: int) -> None:
    rng = Rng(seed)
    feed = world(rng)
    preemptor = Preemptor(feed.class_of(make_pod("x", **request(rng))), rng.choice((5, 9, 10)))
    admitted = with_enough_devices(feed.cluster, preemptor, everywhere(feed, preemptor)).admitted
    run = PreemptionDryRun(feed.cluster, PreemptionRules(), BudgetLedger(feed.cluster), 0.0)
    live = np.flatnonzero(feed.cluster.ledger.slots.live).tolist()
    helped = [slot for slot in live if run.on_slot(preemptor, slot) is not None]
    assert all(admitted[slot] for slot in helped)


def test_devices_of_rows_that_are_gone_count_as_free() -> None:
    feed = ClusterFeed(make_node("n", gpus=1))
    feed.pod(make_pod("p", gpus=1, node="n", priority=9))
    preemptor, row = Preemptor(feed.class_of(make_pod("x", gpus=1)), 5), feed.row("p")
    wanted = everywhere(feed, preemptor)
    assert not with_enough_devices(feed.cluster, preemptor, wanted).admitted.any()
    assert with_enough_devices(feed.cluster, preemptor, wanted, [row]).admitted.any()


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The slots of every simulated preemption."""
    slots, on_slot = list[int](), PreemptionDryRun.on_slot

    def counted(run: PreemptionDryRun, *given: Any) -> VictimCandidate | None:
        slots.append(given[1])
        return on_slot(run, *given)

    monkeypatch.setattr(PreemptionDryRun, "on_slot", counted)
    return slots


def test_only_nodes_with_evictable_devices_are_simulated(simulated: list[int]) -> None:
    nodes = [make_node(f"n{number}", cpu="4") for number in range(20)]
    nodes += [make_node(name, cpu="4", gpus=1) for name in ("held", "free")]
    pods = [low(f"l{number}", node=f"n{number}") for number in range(20)]
    pods += [high("h", gpus=1, node="held"), low("l", gpus=1, node="free")]
    plane = running(*pods, nodes=tuple(nodes))
    plane.submit(high(gpus=1))
    plane.settle()
    assert plane.placements()["high"] == "free"
    assert {plane.plane.cluster.nodes.names[slot] for slot in simulated} == {"free"}
