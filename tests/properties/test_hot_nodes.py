"""The plan of moves from hot nodes equals that of Koordinator's LowNodeLoad.

The reference decides which pod leaves which node and when. The conditions that only the product has
are in ``Receivers``, which the reference calls for each pod as its eviction: a receiver with free
requests and budget, the one with most budget left first. ``docs/parity/capacity.md`` lists the
other differences, which the drawn clusters avoid: costs and QoS classes of pods, resources other
than CPU and memory, thresholds of online pods, and loads that change between rounds. The use of
online pods is chosen so that no node is low or high because of them.
"""

import msgspec
import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import POD
from stretto.control.controllers.hot_nodes.planner import HotNodes
from stretto.control.controllers.movable import MoveLimits
from stretto.framework.profile.capacity.hot_nodes import AnomalyRule, HotNodeRules, LoadPool
from stretto.testing import Harness, make_node, make_pod
from stretto_lab.models.koordinator.load.rebalance import (
    LoadMove,
    MovablePod,
    Rebalancer,
    RebalanceRules,
)
from stretto_lab.models.koordinator.load.thresholds import (
    LoadClass,
    LoadedMember,
    LoadLimits,
    Percents,
    bounds,
    classify,
)

MIB = 1 << 20
SIZE = {"cpu": 10_000, "memory": 64 << 30}
Use = tuple[int, int]
"""Milli-CPU and MiB."""
Planned = list[tuple[str, str, str]]
"""Pod, source and target of each move."""


class DrawnPod(msgspec.Struct):
    """A pod: measured use (``None`` if the report does not include it), request, priority."""

    use: Use | None
    cpu: int
    priority: int

    def measured(self) -> dict[str, int] | None:
        return None if self.use is None else {"cpu": self.use[0], "memory": self.use[1] * MIB}


class DrawnNode(msgspec.Struct):
    """A node: its pods, its use outside pods, and its conditions."""

    pods: list[DrawnPod]
    system: Use
    cordoned: bool
    refuses: bool

    @property
    def use(self) -> dict[str, int]:
        parts = [self.system, *(pod.use for pod in self.pods if pod.use)]
        cpu, memory = (sum(part[i] for part in parts) for i in (0, 1))
        return {"cpu": cpu, "memory": memory * MIB}


class Drawn(msgspec.Struct):
    """A cluster, the rules, and rounds."""

    nodes: list[DrawnNode]
    pool: LoadPool
    least: int
    moves: int
    rounds: int

    def named(self) -> list[tuple[str, DrawnNode]]:
        return [(f"n{number}", node) for number, node in enumerate(self.nodes)]


uses = st.tuples(
    st.integers(0, 8).map(lambda n: 250 * n), st.integers(0, 8).map(lambda n: 1024 * n)
)
pods = st.builds(
    DrawnPod,
    st.one_of(st.none(), uses, uses, uses),
    st.sampled_from([100, 2500]),
    st.integers(0, 2),
)
busy = st.builds(
    DrawnNode,
    st.lists(pods, min_size=2, max_size=6),
    st.tuples(st.integers(1000, 5000), st.integers(5_000, 40_000)),
    st.booleans(),
    st.just(True),
)
idle = st.builds(
    DrawnNode,
    st.lists(
        st.builds(DrawnPod, st.just((100, 10)), st.sampled_from([100, 4000]), st.just(0)),
        max_size=2,
    ),
    st.tuples(st.integers(0, 1500), st.integers(0, 8000)),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([False, False, False, True]),
)


@st.composite
def load_pools(draw: st.DrawFn) -> LoadPool:
    resources = draw(st.sampled_from([["cpu"], ["cpu", "memory"]]))
    low = {name: draw(st.integers(10, 40)) for name in resources}
    high = {name: low[name] + draw(st.integers(0, 20)) for name in resources}
    weights = {"cpu": draw(st.integers(1, 3)), "memory": draw(st.integers(1, 3))}
    anomaly = AnomalyRule(
        draw(st.sampled_from([1, 1, 2, 3])),
        draw(st.integers(0, 2)),
        draw(st.sampled_from([30.0, 60.0, 150.0])),
    )
    return LoadPool("", low, high, draw(st.sampled_from([False, False, True])), weights, anomaly)


drawn = st.builds(
    Drawn,
    st.tuples(st.lists(busy, min_size=1, max_size=3), st.lists(idle, min_size=1, max_size=4)).map(
        lambda both: [*both[0], *both[1]]
    ),
    load_pools(),
    st.sampled_from([1, 1, 2]),
    st.sampled_from([1, 3, 100]),
    st.integers(1, 5),
)


class Product:
    """The planner of the product on a drawn cluster."""

    def __init__(self, drawn: Drawn, owners: int = 1 << 20, rest: float = 0.0) -> None:
        made = [
            make_node(name, cpu="10", memory="64Gi", unschedulable=node.cordoned)
            for name, node in drawn.named()
        ]
        self.at = Harness(made, config={"tier": "numpy"})
        for name, node in drawn.named():
            for number, pod in enumerate(node.pods):
                request = {"cpu": f"{pod.cpu}m", "memory": "1Mi"}
                spec = {"spec": {"priority": pod.priority}, "node": name}
                self.at.put(POD, make_pod(f"{name}-p{number}", **request, **spec))
        self.at.settle()
        for name, node in drawn.named():
            self.measure(name, node)
        self.owners = owners
        plane, limits = self.at.plane, (drawn.least, drawn.moves, rest)
        names, refusing = plane.cluster.nodes.names, {n for n, e in drawn.named() if e.refuses}
        moves = MoveLimits(drawn.moves, plane.budgets, plane.units, lambda _: False, self.owner_of)
        self.planner = HotNodes(
            plane.cluster,
            HotNodeRules(60.0, (drawn.pool,), *limits),
            lambda: moves,
            lambda _, slot: names[slot] not in refusing,
        )

    def owner_of(self, row: int) -> str:
        return f"ReplicaSet/default/rs-{row % self.owners}"

    def measure(self, name: str, node: DrawnNode) -> None:
        cluster = self.at.plane.cluster
        reports, slot = cluster.nodes.reports, cluster.nodes.by_name[name]
        reports.grow(slot + 1)
        reports.used[slot], reports.measured_s[slot] = (node.use["cpu"], node.use["memory"]), 1.0
        rows = cluster.pods.on_slot(slot)
        numbers = [int(cluster.pods.name[row].partition("-p")[2]) for row in rows.tolist()]
        use = [node.pods[number].measured() or {"cpu": -1, "memory": -1} for number in numbers]
        found = np.array([list(each.values()) for each in use], np.int64).reshape(-1, 2)
        reports.pods.renew(slot, rows, found)
        reports.version += 1

    def round(self, now: float) -> Planned:
        moves = self.planner.plan(now)
        return [(move.pod.partition("/")[2], move.source, move.target) for move in moves]


class Receivers:
    """The conditions of a move that only the product has."""

    def __init__(self, drawn: Drawn, members: list[LoadedMember], limits: LoadLimits) -> None:
        found = bounds(members, limits)
        low = classify(members, found)[LoadClass.LOW]
        nodes = dict(drawn.named())
        taken = {each.name: sum(pod.cpu for pod in nodes[each.name].pods) for each in low}
        self.free = {name: SIZE["cpu"] - cpu for name, cpu in taken.items()}
        self.spare = {
            each.name: {r: found[each.name].node.high[r] - each.usage[r] for r in SIZE}
            for each in low
        }
        self.admits = {each.name for each in low if not nodes[each.name].refuses}
        self.most, self.made = drawn.moves, Planned()

    def left(self, name: str) -> float:
        return min(1.0, *(self.spare[name][r] / SIZE[r] for r in SIZE))

    def fits(self, pod: MovablePod, name: str) -> bool:
        use = pod.usage or {}
        space = all(self.spare[name][r] >= use[r] for r in SIZE)
        return name in self.admits and space and self.free[name] >= pod.requests["cpu"]

    def attempt(self, move: LoadMove) -> bool:
        found = [name for name in self.spare if self.fits(move.pod, name)]
        if not found or len(self.made) >= self.most:
            return False
        target = max(found, key=self.left)
        self.free[target] -= move.pod.requests["cpu"]
        for resource, amount in (move.pod.usage or {}).items():
            self.spare[target][resource] -= amount
        self.made.append((move.pod.name, move.pod.node, target))
        return True


class Reference:
    """Koordinator's rebalancing of a drawn cluster."""

    def __init__(self, drawn: Drawn) -> None:
        pool, self.drawn = drawn.pool, drawn
        of_online_pods = Percents({"cpu": 100 * pool.deviation}, {"cpu": 100})
        self.limits = LoadLimits(Percents(pool.low, pool.high), of_online_pods, pool.deviation)
        rules = RebalanceRules(self.limits, pool.weights, False, drawn.least - 1, pool.anomaly)
        self.rebalancer = Rebalancer(rules)

    def members(self) -> list[LoadedMember]:
        return [
            LoadedMember(name, SIZE, SIZE, node.use, {"cpu": 1}, node.cordoned)
            for name, node in self.drawn.named()
        ]

    def pods(self) -> list[MovablePod]:
        """The pods; later ones are younger. Those that free nothing may not be evicted."""
        high = {name: each.node for name, each in bounds(self.members(), self.limits).items()}
        found = []
        for name, node in self.drawn.named():
            exceeded = high[name].exceeded(node.use)
            for number, pod in enumerate(node.pods):
                use, key = pod.measured(), f"{name}-p{number}"
                helps = use is not None and any(use[resource] for resource in exceeded)
                common = {"priority": pod.priority, "created_ago_s": -len(found)}
                found.append(
                    MovablePod(key, name, use, {"cpu": pod.cpu}, evictable=helps, **common)
                )
        return found

    def round(self, now: float) -> Planned:
        receivers = Receivers(self.drawn, self.members(), self.limits)
        self.rebalancer.round(now, self.members(), self.pods(), receivers.attempt)
        return receivers.made


@settings(max_examples=100)
@given(drawn)
def test_the_moves_of_all_rounds_are_those_of_koordinator(drawn: Drawn) -> None:
    product, reference = Product(drawn), Reference(drawn)
    times = [60.0 * number for number in range(1, drawn.rounds + 1)]
    expected = [reference.round(now) for now in times]
    event(f"moves in {sum(map(bool, expected))} rounds")
    assert [product.round(now) for now in times] == expected


@settings(max_examples=50)
@given(drawn, st.lists(st.lists(st.integers(0, 9000), min_size=7, max_size=7), min_size=2))
def test_no_two_pods_of_an_owner_move_while_it_rests(drawn: Drawn, loads: list[list[int]]) -> None:
    product, moved = Product(drawn, owners=3, rest=150.0), dict[str, float]()
    for number, systems in enumerate(loads, start=1):
        for (name, node), cpu in zip(drawn.named(), systems, strict=False):
            product.measure(name, msgspec.structs.replace(node, system=(cpu, 0)))
        now = 60.0 * number
        for move in product.planner.plan(now):
            assert now - moved.get(move.owner, -1e9) >= 150.0
            moved[move.owner] = now
