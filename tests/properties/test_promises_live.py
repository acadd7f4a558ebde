"""Overcommit on a live plane: new claims stay within the ratios and pools of the moment."""

import json
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.types.handover_annotations import RESOURCE_TYPE
from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, NODE_OVERCOMMIT_CONFIG
from stretto.framework.profile.capacity.overcommit import POOL_LABEL
from stretto.framework.profile.profile import load_profile
from stretto.testing import Harness, make_node, make_pod, make_report

NODES = ("n", "m")
CORES, CAP = 4000, 3
NOTES = {
    "shared": {},
    "exclusive": {"katalyst.kubewharf.io/qos_level": "dedicated_cores"},
    "reclaimed": {RESOURCE_TYPE: "best-effort"},
}
"""Annotations by kind of pod."""
SHARDS = {"tier": "numpy", "shards": 2, "partition": False, "batch": 2}


class Moment(NamedTuple):
    """Changes at one time."""

    #: The configured ratio in hundredths.
    ratio: int
    #: Milli-CPU of the pool of each node.
    pool: int
    #: New pods: kind and milli-CPU.
    pods: list[tuple[str, int]]


moments = st.lists(
    st.builds(
        Moment,
        st.integers(100, 400),
        st.integers(0, 4000),
        st.lists(st.tuples(st.sampled_from(list(NOTES)), st.integers(1, 3000)), max_size=8),
    ),
    min_size=1,
    max_size=4,
)


class World:
    """Two overcommitted nodes with pools, and two shards that share them."""

    def __init__(self) -> None:
        pools = {"online": {"caps": {"cpu": CAP}, "measured": False}}
        profile = load_profile({"profiles": [{"stretto": {"overcommit": {"pools": pools}}}]})
        labels = {POOL_LABEL: "online"}
        nodes = [make_node(name, cpu=f"{CORES}m", labels=labels) for name in NODES]
        self.at = Harness(nodes, profile=profile, config=SHARDS)
        self.sizes: dict[str, tuple[str, int]] = {}

    def live(self, moment: Moment) -> set[str]:
        """Apply a moment; returns the pods that were placed in it."""
        spec = {"nodeOvercommitSelectorVal": "online"}
        spec |= {"resourceOvercommitRatio": {"cpu": f"{moment.ratio / 100:.2f}"}}
        body = json.dumps({"metadata": {"name": "c"}, "spec": spec}).encode()
        self.at.replace(NODE_OVERCOMMIT_CONFIG, body)
        pool = {"cpu": f"{moment.pool}m", "memory": "64Gi", "pods": "100"}
        for node in NODES:
            self.at.replace(CUSTOM_NODE_RESOURCE, make_report(node, [], pool=pool))
        before = self.running()
        for kind, size in moment.pods:
            name = f"p{len(self.sizes)}"
            self.sizes[name] = kind, size
            self.at.submit(make_pod(name, cpu=f"{size}m", memory="1Mi", annotations=NOTES[kind]))
        self.at.settle(30.0)
        return self.running() - before

    def running(self) -> set[str]:
        return {name for name, node in self.at.placements().items() if node}

    def used(self, node: str, kind: str) -> int:
        on_node = [name for name, home in self.at.placements().items() if home == node]
        return sum(self.sizes[name][1] for name in on_node if self.sizes[name][0] == kind)

    def new_on(self, node: str, new: set[str], *kinds: str) -> bool:
        placements = self.at.placements()
        return any(placements[name] == node and self.sizes[name][0] in kinds for name in new)


@given(moments)
@settings(deadline=None)
def test_new_claims_stay_within_the_ratio_of_the_moment(wanted: list[Moment]) -> None:
    world = World()
    for moment in wanted:
        new, ratio = world.live(moment), min(moment.ratio / 100, CAP)
        for node in (each for each in NODES if world.new_on(each, new, "shared", "exclusive")):
            exclusive, shared = (world.used(node, kind) for kind in ("exclusive", "shared"))
            left = CORES - exclusive
            assert left >= 0
            assert shared <= max(int(left * ratio), left)
        assert world.at.breaches() == []


@given(moments)
@settings(deadline=None)
def test_new_best_effort_claims_stay_within_the_pool_of_the_moment(wanted: list[Moment]) -> None:
    world = World()
    for moment in wanted:
        new = world.live(moment)
        for node in (each for each in NODES if world.new_on(each, new, "reclaimed")):
            assert world.used(node, "reclaimed") <= moment.pool
