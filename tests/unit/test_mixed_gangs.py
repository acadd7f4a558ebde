"""Gangs with members of different sizes: placement, racks, preemption, reclaim, explanation."""

import json

import pytest

from stretto.api.wire.kinds import QUEUE
from stretto.explain.why.answers import Explanation
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.testing import Harness, make_node, make_pod

PROFILES = pytest.mark.parametrize("profile", ["default", "packing", "kube-parity"])
ORDERS = pytest.mark.parametrize("order", ["xy", "yx"])
SIZES = {"x": "30", "y": "50"}


def two_nodes(profile: str = "default") -> Harness:
    nodes = [make_node("large", cpu="53"), make_node("small", cpu="31")]
    return Harness(nodes, profile=profile, config={"tier": "numpy"})


def gang(harness: Harness, order: str, **more: object) -> dict[str, str]:
    harness.group("g", 2)
    harness.submit(*[make_pod(f"g-{c}", cpu=SIZES[c], group="g", **more) for c in order])
    harness.settle(30)
    assert harness.breaches() == []
    return {name: harness.node_of(name) for name in ("g-x", "g-y")}


def explained(harness: Harness, pod: str) -> Explanation:
    plane = harness.plane
    scene = live_scene(plane.cluster, plane.config.profile, plane.units, plane.dispatcher.views)
    return explain_pod(scene, pod)


@PROFILES
@ORDERS
def test_a_gang_of_two_sizes_starts_in_either_order(profile: str, order: str) -> None:
    assert gang(two_nodes(profile), order) == {"g-x": "small", "g-y": "large"}


@PROFILES
@ORDERS
def test_a_gang_of_two_sizes_preempts_in_either_order(profile: str, order: str) -> None:
    harness = two_nodes(profile)
    harness.submit(make_pod("low-a", cpu="40"), make_pod("low-b", cpu="25"))
    harness.settle(60)
    assert gang(harness, order, priority=100) == {"g-x": "small", "g-y": "large"}


@ORDERS
def test_a_gang_of_two_sizes_reclaims_in_either_order(order: str) -> None:
    harness = two_nodes()
    for name, spec in {"own": {"guarantee": {"cpu": "84"}}, "other": {}}.items():
        body = {
            "apiVersion": QUEUE.api_version,
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"policy": "FifoSkip", **spec},
        }
        harness.create(QUEUE, json.dumps(body).encode())
    other = {"stretto.dev/queue": "other"}
    harness.submit(
        make_pod("low-a", cpu="40", annotations=other),
        make_pod("low-b", cpu="25", annotations=other),
    )
    harness.settle(60)
    own = {"stretto.dev/queue": "own"}
    assert gang(harness, order, annotations=own) == {"g-x": "small", "g-y": "large"}


@ORDERS
def test_one_rack_holds_a_gang_of_two_sizes(order: str) -> None:
    nodes = [
        make_node("a0", cpu="53", labels={"rack": "a"}),
        make_node("a1", cpu="29", labels={"rack": "a"}),
        make_node("b0", cpu="53", labels={"rack": "b"}),
        make_node("b1", cpu="31", labels={"rack": "b"}),
    ]
    harness = Harness(nodes, config={"tier": "numpy"})
    required = {"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}
    harness.group("g", 2, affinity=required)
    harness.submit(*[make_pod(f"g-{c}", cpu=SIZES[c], group="g") for c in order])
    harness.settle()
    assert (harness.node_of("g-x"), harness.node_of("g-y")) == ("b1", "b0")


def test_one_rack_holds_a_gang_with_gpus() -> None:
    nodes = [make_node(f"{rack}0", gpus=2, labels={"rack": rack}) for rack in "ab"]
    harness = Harness(nodes, config={"tier": "numpy"})
    harness.group("g", 2, affinity={"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}})
    harness.submit(*[make_pod(f"g-{i}", gpus=1, group="g") for i in range(2)])
    harness.settle()
    assert len({harness.node_of("g-0"), harness.node_of("g-1")} - {""}) == 1


def test_a_rack_is_filled_by_an_assignment_that_no_order_of_sizes_finds() -> None:
    """Only 6 + 4, 6 + 4 and 5 + 5 fill the rack; a spread of the equal members fails."""
    nodes = [make_node(f"r{i}", cpu="10", labels={"rack": "r"}) for i in range(3)]
    harness = Harness(nodes, config={"tier": "numpy"})
    harness.group("g", 6, affinity={"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}})
    sizes = (4, 5, 6, 4, 5, 6)
    harness.submit(*[make_pod(f"g-{i}", cpu=str(c), group="g") for i, c in enumerate(sizes)])
    harness.settle()
    assert all(harness.placements().values())


def test_a_batch_serves_other_units_in_order_around_a_mixed_gang() -> None:
    harness = two_nodes()
    harness.group("g", 2)
    harness.submit(
        make_pod("first", cpu="1"),
        make_pod("g-x", cpu="30", group="g"),
        make_pod("g-y", cpu="50", group="g"),
        make_pod("last", cpu="2"),
    )
    harness.settle()
    assert all(harness.placements().values())
    assert harness.breaches() == []


def test_a_gang_of_gpu_workers_and_a_launcher_leaves_the_launcher_a_place() -> None:
    nodes = [make_node("gpu", cpu="16", gpus=4), make_node("cpu", cpu="16")]
    for order in ((0, 4), (4, 0)):
        harness = Harness(nodes, config={"tier": "numpy"})
        harness.group("g", 2)
        pods = [make_pod(f"g-{n}", cpu="12", gpus=n, group="g") for n in order]
        harness.submit(*pods)
        harness.settle()
        assert harness.placements() == {"g-0": "cpu", "g-4": "gpu"}


@pytest.mark.parametrize("sizes", [(8, 1, 8), (8, 8, 1), (1, 8, 8)])
def test_a_gang_that_fits_the_empty_cluster_is_not_too_big(sizes: tuple[int, ...]) -> None:
    nodes = [make_node(f"n{i}", cpu=str(cpu)) for i, cpu in enumerate((4, 8, 8))]
    harness = Harness(nodes, config={"tier": "numpy"})
    busy = [make_pod(f"busy-{i}", cpu=str(c), node=f"n{i}") for i, c in enumerate((4, 8, 8))]
    harness.submit(*busy)
    harness.group("g", 3)
    harness.submit(*[make_pod(f"g-{i}", cpu=str(c), group="g") for i, c in enumerate(sizes)])
    harness.settle()
    for i in range(3):
        said = explained(harness, f"g-{i}")
        assert ReasonCode.GANG_TOO_BIG not in [each.code for each in said.reasons]
        assert said.gang is not None
        assert said.gang.fitting_if_empty == 3


def test_a_gang_of_two_sizes_that_no_cluster_holds_is_too_big() -> None:
    harness = two_nodes()
    harness.group("g", 3)
    harness.submit(*[make_pod(f"g-{i}", cpu=c, group="g") for i, c in enumerate(("30", "50", "4"))])
    harness.settle()
    said = explained(harness, "g-0")
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.GANG_TOO_BIG
    assert "empty, fit 2." in said.dominant.sentence


def test_equal_host_ports_of_a_gang_are_counted_for_the_empty_cluster() -> None:
    harness = two_nodes()
    harness.group("g", 3)
    harness.submit(*[make_pod(f"g-{i}", group="g", ports=(80,)) for i in range(3)])
    harness.settle()
    said = explained(harness, "g-0").gang
    assert said is not None
    assert said.fitting_if_empty == 2
