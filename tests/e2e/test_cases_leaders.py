"""Two replicas that believe they lead, and clocks that jump: cases 31 and 32."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.clock import WallClock
from stretto.explain.doctor.doctor import examine, subject_of
from stretto.explain.doctor.findings import DoctorCheck
from stretto.plane.plane import Plane
from stretto.sim.states.clusters import listed
from stretto.stores.lease import LeaderElector, LeaseConfig
from stretto.stores.store import Bind
from tests.e2e.daemon import SPACE
from tests.e2e.plane import NAMES, Ground, store_of

pytestmark = pytest.mark.kube

DAY = 86_400.0


class Jumping(WallClock):
    """A wall clock that can be set, together with a monotonic clock that cannot."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@pytest.fixture
def other(ground: Ground) -> Iterator[Plane]:
    """One more replica that believes it leads."""
    with closing(ground.new_plane(ground.near)) as plane:
        yield plane


def test_case_31_two_leaders_at_once_bind_no_pod_twice(ground: Ground, other: Plane) -> None:
    ground.nodes(*(f"n{number}" for number in range(4)), cpu="32")
    ground.go(lambda: ground.plane.pump.synced and other.pump.synced, other)
    ground.pods(*(f"p{number}" for number in range(60)), cpu="100m")
    ground.go(ground.all_bound(60), other)
    ground.go_for(1.0, other)
    assert ground.most_places() == 1
    ground.laws_hold()


def test_case_31_what_two_leaders_overcommit_is_found_and_not_made_worse(
    ground: Ground, other: Plane
) -> None:
    ground.nodes("n0", cpu="2")
    ground.go(lambda: ground.plane.pump.synced and other.pump.synced, other)
    ground.pods("a", "b", "c", "d")
    names = iter(("a", "b"))

    def meanwhile(name: str) -> None:
        """Let the other one bind while this one is about to: neither has seen the other's."""
        if name == "binder.before-write" and next(names, None):
            ground.failpoint = lambda _: None
            other.run_until_idle(50)

    ground.failpoint = meanwhile
    ground.go(lambda: len(ground.bound()) >= 2, other)
    ground.go_for(2.0, other)
    ground.pods("late")
    ground.go_for(1.0, other)
    assert "late" not in ground.bound()
    assert ground.most_places() == 1
    found = examine(subject_of(listed(ground.near).records, NAMES)).findings
    over = [each for each in found if each.check is DoctorCheck.OVER_COMMITTED]
    assert bool(over) == (len(ground.bound()) > 2)
    for name in list(ground.bound())[2:]:
        ground.remove(name)
    ground.go_for(0.5, other)
    ground.laws_hold()


def test_case_31_the_remaining_leader_resolves_an_overcommit_of_two_leaders(
    ground: Ground,
) -> None:
    """The other leader has bound to a full node and stopped; no kubelet has started these pods."""
    ground.nodes("n0", cpu="2")
    ground.owned("a", "b")
    ground.go(ground.all_bound(2))
    ground.owned("c", "d")
    uids = {each.name: each.uid for each in ground.near.list(POD).records}
    ground.near.bind([Bind(SPACE, name, uids[name], "n0") for name in "cd"])
    ground.go(ground.all_bound(4))
    ground.plane.overcommit_eviction.run(1.0, ground.plane.clock.monotonic())

    def kubelet() -> int:
        """Complete the requested evictions; the number of remaining pods."""
        for each in ground.near.list(POD).records:
            if each.deleting:
                ground.remove(each.name)
        return len(ground.bound())

    ground.go(lambda: kubelet() == 2)
    ground.go_for(2.0)
    assert kubelet() == 2
    ground.laws_hold()


@pytest.mark.parametrize("jump", [-3 * 3600.0, 3600.0, DAY, -DAY])
def test_case_32_a_wall_clock_that_jumps_stops_no_process(ground: Ground, jump: float) -> None:
    clock = Jumping()
    ground.plane.close()
    ground.plane = ground.new_plane(clock=clock)
    ground.nodes("n0")
    ground.pods("before")
    ground.go(ground.all_bound(1))
    clock.ahead = jump
    ground.pods("after", "also")
    ground.go(ground.all_bound(3))
    ground.laws_hold()


@pytest.mark.parametrize("jump", [3600.0, -3 * 3600.0])
def test_case_31_a_standby_whose_clock_jumps_takes_no_lease_that_is_kept(
    ground: Ground, jump: float
) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/jumps"
    ground.site.send("DELETE", path)
    with closing(store_of(ground.site)) as store:
        clock = Jumping()
        leader = LeaderElector(store, LeaseConfig("kube-system", "jumps", "one"), WallClock())
        standby = LeaderElector(store, LeaseConfig("kube-system", "jumps", "two"), clock)
        leader.tick()
        standby.tick()
        clock.ahead = jump
        for _ in range(3):
            leader.tick()
            standby.tick()
        assert leader.leads()
        assert not standby.leads()
