"""A whole plane under the default profile evicts the victims of kube-scheduler's search.

Nodes lack volumes, claims are ReadWriteOncePod, pods have anti-affinity: only the blocking pods
are evicted, and the preemptor is bound.
"""

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.codec import decode_as
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import CSI_NODE
from stretto.framework.parity.decision import Decision
from stretto.testing import make_node, make_pod
from tests.support.parity_plane import library_of
from tests.support.preemption_plane import clean
from tests.support.volume_plane import HOST, ZONE, Site

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES, CLAIMS = 3, 6
DRIVER = "csi.example.com"


class World(Site):
    """Three nodes with few volumes, and pods of priorities of their own."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        nodes = [make_node(f"n{i}", cpu="4", zone=f"z{i % 2}") for i in range(NODES)]
        super().__init__(nodes, config={"tier": "numpy"})
        self.storage_class("local")
        self.alone: set[int] = set()
        self.used: set[int] = set()
        self.mounted: dict[str, set[int]] = {f"n{i}": set() for i in range(NODES)}
        for i in range(CLAIMS):
            self.volume(f"v{i}", driver=DRIVER)
            mode = self.pick("ReadWriteOncePod", "ReadWriteMany", "ReadWriteOnce")
            self.claim(f"c{i}", bound=f"v{i}", mode=mode)
            if mode == "ReadWriteOncePod":
                self.alone.add(i)
        self.ranks = self.rng.permutation(50).tolist()

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def limit(self) -> None:
        """Nodes take as many volumes as they have, or one more."""
        for name in self.mounted:
            count = len(self.mounted[name]) + self.pick(0, 0, 1)
            driver = {"name": DRIVER, "nodeID": "x", "allocatable": {"count": count}}
            self.define(CSI_NODE, name, spec={"drivers": [driver]})

    def body(self, name: str, **more: Any) -> bytes:
        named = self.rng.choice(CLAIMS, self.pick(0, 1, 1, 2), replace=False).tolist()
        if "node" in more:  # a claim for one pod alone has one
            named = [each for each in named if each not in self.used]
            self.used.update(self.alone.intersection(named))
            self.mounted[more["node"]].update(named)
        spec: dict[str, Any] = {
            "volumes": [
                {"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"c{i}"}} for i in named
            ]
        }
        selector = {"labelSelector": {"matchLabels": {"app": self.pick("a", "b")}}}
        term = {"topologyKey": self.pick(HOST, ZONE), **selector}
        kind = self.pick("", "", "podAffinity", "podAntiAffinity", "spread")
        if kind == "spread":
            rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term}
            spec["topologySpreadConstraints"] = [rule]
        elif kind:
            spec["affinity"] = {kind: {REQUIRED: [term]}}
        cpu = self.pick("100m", "1", "3")
        return make_pod(name, cpu=cpu, labels={"app": self.pick("a", "b")}, spec=spec, **more)


def as_library_says(world: World, decision: Decision, before: dict[str, str], name: str) -> bool:
    """Return whether a pod is on the library's node, and only its victims are gone."""
    node, after = world.node_of(name), world.placements()
    gone = before.keys() - after.keys()
    if len(decision.feasible):
        allowed = {decision.names[at] for at in decision.feasible.tolist()}
        return node in allowed and not gone
    found = decision.preemption
    if found is None or found.chosen is None:
        return not node and not gone
    tied = {found.chosen.node, *found.tied}
    wanted = [(c.node, {v.key[1] for v in c.victims}) for c in found.candidates if c.node in tied]
    return (node, gone) in wanted


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_victims_and_preemptors_are_those_of_kube_scheduler(seed: int) -> None:
    world = World(seed)
    for number in range(8):
        on = f"n{int(world.rng.integers(NODES))}"
        world.submit(world.body(f"r{number}", priority=world.ranks[number], node=on))
    world.limit()
    world.settle()
    for number in range(3):
        body = world.body(f"x{number}", priority=100 + number)
        before = world.placements()
        whole = msgspec.json.decode(body)
        decision = library_of(world.store).decide(decode_as(Pod, msgspec.json.encode(whole)))
        world.submit(body)
        world.settle(2)
        assert as_library_says(world, decision, before, f"x{number}")
        assert clean(world)
        if not world.node_of(f"x{number}"):
            world.delete(f"x{number}")
            world.settle()
