"""After a crash of any process at any line, nothing is lost, bound twice or over-committed."""

from collections import Counter

import pytest

from stretto.api.wire.kinds import POD
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.stores.faulty.odds import FaultOdds
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import Store
from stretto.testing import make_group, make_node, make_pod
from tests.unit.daemons.roles.rig import Rig, names

ROLES = ("dispatcher", "a", "b", "binder")
ODDS = FaultOdds(
    cut_event=0.01,
    double_event=0.05,
    delay_event=0.05,
    cut_watch=0.02,
    lost_reply=0.05,
    lost_request=0.05,
    half_batch=0.1,
    refused_write=0.05,
)
CPU, GANG = 6, 3


class Storm:
    """A cluster under load whose roles die at random, each behind a bad line of its own."""

    def __init__(self, seed: int) -> None:
        self.rng = Rng(seed).child("storm")
        self.doors: list[FaultyStore] = []
        self.where: dict[str, str] = {}
        self.waves = 0
        self.rig = Rig("a", "b", dead_after=30.0, door=self.door)
        self.rig.nodes(*(make_node(name, cpu=str(CPU)) for name in names("n", 6)))

    def door(self, store: Store, clock: Clock) -> Store:
        """A line for a role that starts."""
        rng = self.rng.child("door", len(self.doors))
        self.doors.append(FaultyStore(store, rng, ODDS, clock))
        return self.doors[-1]

    def blow(self, steps: int) -> None:
        """Pods arrive, roles work, and sometimes a role crashes in the middle of its work."""
        for _ in range(steps):
            if self.rng.random() < 0.1 and self.waves < 7:
                self.wave()
            for role in (*ROLES, "controller"):
                if role in self.rig.roles and self.rng.random() < 0.8:
                    self.work(role)
            if self.rng.random() < 0.08:
                self.rig.stop(self.rng.choice(ROLES))
            for role in ROLES:
                if role not in self.rig.roles and self.rng.random() < 0.2:
                    self.rig.start(role)
            self.rig.clock.advance(self.rng.choice([0.0, 0.1, 1.0, 4.0]))
            self.look()

    def wave(self) -> None:
        """Two single pods and a gang."""
        number, self.waves = self.waves, self.waves + 1
        self.rig.groups(make_group(f"g{number}", GANG))
        gang = names(f"g{number}", GANG)
        self.rig.pods(*(make_pod(name, cpu="1", group=f"g{number}") for name in gang))
        self.rig.pods(*(make_pod(name, cpu="1") for name in names(f"p{number}", 2)))

    def work(self, role: str) -> None:
        """One step; a daemon whose line breaks in the middle of it restarts."""
        try:
            self.rig.roles[role].step()
        except StrettoError:
            self.rig.start(role)

    def look(self) -> None:
        """A pod stays where it is, and nodes hold what they can."""
        bound = self.rig.bound()
        for name, node in self.where.items():
            assert bound[name] == node
        self.where = bound
        assert max(Counter(bound.values()).values(), default=0) <= CPU

    def calm(self) -> None:
        """Restore all connections and start every role."""
        for door in self.doors:
            door.heal()
        for role in ROLES:
            if role not in self.rig.roles:
                self.rig.start(role)
        for door in self.doors:
            door.heal()
        for _ in range(60):
            self.rig.settle()
            self.rig.clock.advance(4.0)
            self.look()


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_and_nothing_is_bound_twice(seed: int) -> None:
    _weather(seed, 120)


def test_an_old_word_about_a_pod_does_not_undo_its_binding() -> None:
    _weather(138, 300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 206))
def test_nothing_is_lost_in_many_storms(seed: int) -> None:
    _weather(seed, 300)


def _weather(seed: int, steps: int) -> None:
    storm = Storm(seed)
    storm.blow(steps)
    storm.calm()
    waiting = {record.name for record in storm.rig.store.list(POD).records if not record.node}
    assert waiting == set()
    assert len(storm.where) == storm.waves * (GANG + 2)
