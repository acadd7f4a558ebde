"""The laws of tidal pools under random demand: no ping-pong, and no online pod is evicted."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.wire.kinds import POD
from stretto.capacity.tides.pool import NodeRole
from stretto.capacity.tides.rounds import OFFLINE_HOLD_S
from tests.unit.capacity.test_tides import OFFLINE, ONLINE, TidalCluster

HOLD_S = 120.0
ACTIONS = st.tuples(
    st.sampled_from(["online", "offline", "end", "restart", "wait"]), st.integers(1, 3)
)


class Demand:
    """A pool under pods that come and go."""

    def __init__(self) -> None:
        self.cluster = TidalCluster()
        self.cluster.pool({"tide.stretto.dev/hold-seconds": f"{HOLD_S:g}"})
        self.cluster.run(HOLD_S + 100)
        self.online: list[str] = []
        self._names = 0

    def act(self, what: str, count: int) -> None:
        names = [f"pod-{self._names + each}" for each in range(count)]
        self._names += count
        if what == "online":
            self.cluster.pods(ONLINE, *names)
            self.online += names
        elif what == "offline":
            self.cluster.pods(OFFLINE, *names)
        elif what == "end":
            self.cluster.end(*self.online[:count])
            del self.online[:count]
        elif what == "restart":
            self.cluster.start()
        self.cluster.run(40.0 * count)

    def pauses(self) -> list[tuple[NodeRole, float]]:
        """Of each node that switched twice: its role in between, and for how long."""
        found = []
        for node in {each.node for each in self.cluster.switches}:
            own = [each for each in self.cluster.switches if each.node == node]
            found += [(first.role, later.at - first.at) for first, later in pairwise(own)]
        return found


@settings(max_examples=6)
@given(actions=st.lists(ACTIONS, min_size=4, max_size=12))
def test_a_node_keeps_each_side_for_its_time_and_online_pods_are_never_evicted(
    actions: list[tuple[str, int]],
) -> None:
    demand = Demand()
    for what, count in actions:
        demand.act(what, count)
    least = {NodeRole.ONLINE: HOLD_S, NodeRole.OFFLINE: OFFLINE_HOLD_S}
    assert all(seconds >= least[role] for role, seconds in demand.pauses())
    assert set(demand.online) <= set(demand.cluster.read(POD))


@settings(max_examples=2)
@given(actions=st.lists(ACTIONS, min_size=3, max_size=8))
def test_the_same_demand_gives_the_same_switches(actions: list[tuple[str, int]]) -> None:
    one, other = Demand(), Demand()
    for what, count in actions:
        one.act(what, count)
        other.act(what, count)
    assert one.cluster.switches == other.cluster.switches
