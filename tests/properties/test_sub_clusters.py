"""Loops of sub-clusters over random clusters: they place what one loop would, and lose nothing."""

from itertools import product
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import NODE
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod

SUBS = ("", "x", "y", "z")


class Wanted(NamedTuple):
    """A pod: the sub-cluster that it names, its cores, its gang."""

    sub: str
    cpu: int
    gang: int


class World(NamedTuple):
    """A cluster and its work; nodes are (sub-cluster, cores)."""

    nodes: list[tuple[str, int]]
    pods: list[Wanted]
    isolated: bool
    shards: int
    batch: int
    recycle_after: float
    moved: list[tuple[int, str]]


wanted = st.builds(Wanted, st.sampled_from(SUBS), st.integers(1, 3), st.sampled_from((0, 0, 1, 2)))
worlds = st.builds(
    World,
    nodes=st.lists(st.tuples(st.sampled_from(SUBS), st.integers(1, 8)), min_size=1, max_size=6),
    pods=st.lists(wanted, max_size=16),
    isolated=st.booleans(),
    shards=st.integers(1, 3),
    batch=st.sampled_from((1, 2, 64)),
    recycle_after=st.sampled_from((0.0, 30.0, 1e6)),
    moved=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(SUBS[1:])), max_size=2),
)
few = settings(max_examples=25)


def started(world: World) -> Harness:
    args = {"key": "sub", "isolated": world.isolated, "recycleAfter": world.recycle_after}
    plugins = {"filter": {"enabled": [{"name": "SubCluster"}]}}
    config = [{"name": "SubCluster", "args": args}]
    own = {"preemption": {"enabled": False}}
    form = {"plugins": plugins, "pluginConfig": config, "stretto": own}
    nodes = [
        make_node(f"n{i}", cpu=str(cpu), labels={"sub": sub} if sub else {})
        for i, (sub, cpu) in enumerate(world.nodes)
    ]
    shape = {"tier": "numpy", "shards": world.shards, "batch": world.batch}
    return Harness(nodes, profile=load_profile({"profiles": [form]}), config=shape)


def sailed(world: World) -> tuple[Harness, list[str]]:
    """The end of it, and the sub-cluster of each node then."""
    at, subs = started(world), [sub for sub, _ in world.nodes]
    for gang in {each.gang for each in world.pods if each.gang}:
        at.group(f"g{gang}", sum(each.gang == gang for each in world.pods))
    for half in (0, 1):
        at.submit(*(body(i, each) for i, each in enumerate(world.pods) if i % 2 == half))
        at.settle(seconds=20.0)
    for number, sub in world.moved:
        if number < len(subs):
            subs[number] = sub
            at.store.patch(NODE, [Patch("", f"n{number}", {"metadata": {"labels": {"sub": sub}}})])
    at.settle(seconds=60.0)
    return at, subs


def body(number: int, pod: Wanted) -> bytes:
    spec = {"nodeSelector": {"sub": pod.sub}} if pod.sub else {}
    group = f"g{pod.gang}" if pod.gang else ""
    return make_pod(f"p{number}", cpu=str(pod.cpu), spec=spec, group=group)


def allows(world: World, pod: Wanted, sub: str) -> bool:
    """Gödel's answer for a node of a sub-cluster, which is ours for isolated sub-clusters."""
    return pod.sub == sub or (not pod.sub and not (world.isolated and sub))


@few
@given(worlds)
def test_nothing_is_placed_that_the_rules_forbid(world: World) -> None:
    world = world._replace(moved=[])
    at, subs = sailed(world)
    for i, pod in enumerate(world.pods):
        node = at.node_of(f"p{i}")
        assert not node or allows(world, pod, subs[int(node[1:])])
    assert at.breaches() == []


@few
@given(worlds)
def test_every_row_that_was_handed_out_is_answered(world: World) -> None:
    at, _ = sailed(world)
    assert at.plane.dispatcher.audit() == []
    assert all(shard.waiting == 0 for shard in at.plane.shards)
    assert not any(unit.away for unit in at.plane.units)


@few
@given(worlds)
def test_a_gang_stands_whole_or_not_at_all(world: World) -> None:
    at, _ = sailed(world)
    for gang in (1, 2):
        placed = {bool(at.node_of(f"p{i}")) for i, p in enumerate(world.pods) if p.gang == gang}
        assert len(placed) < 2


@few
@given(worlds)
def test_a_pod_that_waits_at_the_end_fits_nowhere(world: World) -> None:
    at, subs = sailed(world)
    free = [cpu for _, cpu in world.nodes]
    for i, pod in enumerate(world.pods):
        if node := at.node_of(f"p{i}"):
            free[int(node[1:])] -= pod.cpu
    left = [p for i, p in enumerate(world.pods) if not p.gang and not at.node_of(f"p{i}")]
    for pod, (sub, capacity) in product(left, zip(subs, free, strict=True)):
        assert not (allows(world, pod, sub) and capacity >= pod.cpu)


@few
@given(worlds)
def test_with_capacity_for_all_one_loop_places_the_same_pods(world: World) -> None:
    world = world._replace(nodes=[(sub, 64) for sub, _ in world.nodes], moved=[])
    parted, _ = sailed(world)
    whole = started(world)
    whole.plane.sub_clusters = None
    for shard in list(whole.plane.shards):
        whole.plane.restart_shard(shard.number, 0.0)
    for gang in {each.gang for each in world.pods if each.gang}:
        whole.group(f"g{gang}", sum(each.gang == gang for each in world.pods))
    whole.submit(*(body(i, each) for i, each in enumerate(world.pods)))
    whole.settle(seconds=60.0)
    waiting = [{p for p, n in at.placements().items() if not n} for at in (parted, whole)]
    assert waiting[0] == waiting[1]
