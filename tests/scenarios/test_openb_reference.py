"""The plane against an independent program, decision by decision, on a sample of the real fleet."""

from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from stretto.base.rng import Rng
from stretto.framework.kernels.tiers import has_numba
from stretto.inputs.neutral.fleet import Fleet, FleetPod
from stretto.inputs.traces.openb.figures import bundled_openb
from stretto.inputs.traces.openb.protocol import ArrivalOrder
from stretto.inputs.traces.openb.reader import load_openb
from stretto.sim.comparison.fragmentation import ArrivalDecisions
from stretto.sim.comparison.scene import OpenbStudy, StudyRunSpec
from stretto.sim.policies import STUDY
from tests.support.references import openb as reference

#: The first of these tests compiles the kernels if they are not compiled yet.
pytestmark = pytest.mark.timeout(240)

NODES, PODS = 40, 300


@cache
def sample() -> Fleet:
    """Every thirtieth node and some pods, one in four GPU pods with a choice of models."""
    whole = bundled_openb()
    drawn = Rng(7).child("sample").numpy().permutation(len(whole.pods))[:PODS]
    pods = [whole.pods[row] for row in drawn.tolist()]
    picky = [choosy(pod) if i % 4 == 0 and pod.gpus else pod for i, pod in enumerate(pods)]
    return msgspec.structs.replace(whole, nodes=whole.nodes[:: 1213 // NODES], pods=tuple(picky))


def choosy(pod: FleetPod) -> FleetPod:
    models = ("T4", "G2") if pod.gpus < 4 else ("G2", "G3")
    return msgspec.structs.replace(pod, gpu_models=models)


def plain(made: ArrivalDecisions) -> list[reference.Decision]:
    return [
        (node, tuple(i for i in range(16) if mask >> i & 1))
        for node, mask in zip(made.node.tolist(), made.devices.tolist(), strict=True)
    ]


def draws_of(requested: StudyRunSpec, count: int) -> list[int]:
    """The random numbers that the plane's only shard draws for its first batch."""
    plane = Rng(requested.seed).child("plane")
    drawn = plane.child("shard", 0).numpy().integers(0, 1 << 63, count, dtype=np.uint64)
    return [int(each) for each in drawn]


@pytest.mark.parametrize("policy", STUDY)
def test_every_decision_of_a_policy_is_that_of_the_plain_program(policy: str) -> None:
    requested = StudyRunSpec(policy, seed=42, arrive_pct=None)
    made, given = OpenbStudy(sample()).decide(requested)
    rows, order = given.arrivals.tolist(), given.node_order.tolist()
    draws = draws_of(requested, len(rows))
    assert plain(made) == reference.decide(sample(), order, rows, policy, draws)


@pytest.mark.parametrize(
    "tier",
    [
        pytest.param(
            "numba", marks=pytest.mark.skipif(not has_numba(), reason="numba is not installed")
        ),
        "numpy",
    ],
)
def test_both_tiers_decide_alike_in_the_order_of_the_file(tier: str) -> None:
    requested = StudyRunSpec("fgd", seed=0, arrive_pct=None, order=ArrivalOrder.FILE, tier=tier)
    made, given = OpenbStudy(sample()).decide(requested)
    rows, order = given.arrivals.tolist(), given.node_order.tolist()
    assert plain(made) == reference.decide(sample(), order, rows, "fgd", [0] * len(rows))


def test_the_sample_fills_its_nodes() -> None:
    run = OpenbStudy(sample()).run(StudyRunSpec("best-fit", seed=1, arrive_pct=None))
    assert run.failed > 20
    assert run.placed > 100


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("policy", [name for name in STUDY if name != "random"])
def test_the_whole_list_in_the_order_of_the_file_is_decided_alike(
    shared_data: Path, policy: str
) -> None:
    folder = shared_data / "openb"
    fleet = load_openb(
        folder / "openb_node_list_gpu_node.csv", folder / "openb_pod_list_gpuspec33.csv"
    )
    made, given = OpenbStudy(fleet).decide(
        StudyRunSpec(policy, seed=0, arrive_pct=None, order=ArrivalOrder.FILE)
    )
    rows, order = given.arrivals.tolist(), given.node_order.tolist()
    assert plain(made) == reference.decide(fleet, order, rows, policy, [0] * len(rows))
