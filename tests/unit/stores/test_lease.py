"""Leader election in virtual time: one leads, a standby takes over, clocks may jump."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.kinds import LEASE, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError, NotAllowedError, UnreachableError
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.lease import GRANTED_WITHIN, LeaderElector, LeaseConfig, LeaseState
from stretto.stores.store import Deletion, Patch, Record, Replies, Reply, StatusReason, WriteOutcome

LEADER, STANDBY = LeaseState.LEADER, LeaseState.STANDBY


class Cut:
    """A store whose line to one candidate can be cut, before a write or after it."""

    def __init__(self, inner: MemoryStore) -> None:
        self.inner = inner
        self.is_down = False
        self.loses_answers = False

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        if self.is_down:
            raise UnreachableError("the server")
        return self.inner.get(kind, namespace, name)

    def patch(self, kind: Kind, patches: Sequence[Patch]) -> Replies:
        replies = self.inner.patch(kind, patches)
        lost = Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, "lost")
        return [lost for _ in replies] if self.loses_answers else replies


class Race:
    """Candidates for one lease."""

    def __init__(self, count: int = 2) -> None:
        self.clock = ManualClock(100.0)
        store = MemoryStore(self.clock, Rng(1))
        self.lines = [Cut(store) for _ in range(count)]
        self.all = [
            LeaderElector(line, LeaseConfig("kube-system", "stretto", f"c{number}"), self.clock)
            for number, line in enumerate(self.lines)
        ]

    def run(self, seconds: float, *who: int) -> None:
        """Let time pass; every candidate (or those named) tries when it is due."""
        for _ in range(int(seconds * 2)):
            for number, each in enumerate(self.all):
                if (not who or number in who) and each.next_due() <= self.clock.monotonic():
                    each.tick()
            self.clock.advance(0.5)

    def leaders(self) -> list[int]:
        return [number for number, each in enumerate(self.all) if each.leads()]


def test_the_first_to_come_leads_and_the_second_stands_by() -> None:
    race = Race()
    race.run(60)
    assert race.leaders() == [0]
    assert race.all[1].holder == "c0"


def test_the_result_of_the_last_attempt_is_reported_until_the_next_one_ends() -> None:
    race = Race(1)
    (line,), (candidate,) = race.lines, race.all
    assert candidate.trouble == "no attempt has been made yet"
    line.is_down = True
    candidate.tick()
    meanwhile: list[str] = []
    found = line.inner.get

    def get(kind: Kind, namespace: str, name: str) -> Record | None:
        meanwhile.append(candidate.trouble)
        return found(kind, namespace, name)

    line.get = get  # type: ignore[method-assign]
    candidate.tick()
    assert "cannot be reached" in meanwhile[0]
    assert candidate.trouble == ""


def test_a_leader_that_cannot_renew_stops_before_another_may_take_over() -> None:
    race = Race()
    race.run(10)
    race.lines[0].is_down = True
    race.run(race.all[0].config.renew_within + 2)
    assert race.leaders() == []
    assert "cannot be reached" in race.all[0].trouble


def test_a_standby_takes_over_when_the_lease_has_run_out() -> None:
    race = Race()
    race.run(10)
    race.lines[0].is_down = True
    race.run(race.all[0].config.duration + 4)
    assert race.leaders() == [1]


def test_a_standby_counts_from_the_answer_because_a_slow_one_may_show_a_late_renewal() -> None:
    race = Race()
    race.run(10, 0)
    line, read = race.lines[1], race.lines[1].get

    def slow(kind: Kind, namespace: str, name: str) -> Record | None:
        race.run(14, 0)
        return read(kind, namespace, name)

    line.get = slow  # type: ignore[method-assign]
    race.all[1].tick()
    line.get, race.lines[0].is_down = read, True  # type: ignore[method-assign]
    race.run(6)
    assert race.leaders() == [0]


def test_a_former_leader_that_comes_back_stands_by() -> None:
    race = Race()
    race.run(10)
    race.lines[0].is_down = True
    race.run(30)
    race.lines[0].is_down = False
    race.run(30)
    assert race.leaders() == [1]


def test_a_lease_that_is_given_up_is_taken_at_the_next_try() -> None:
    race = Race()
    race.run(10)
    race.all[0].release()
    assert race.leaders() == []
    race.run(3, 1)
    assert race.leaders() == [1]


def test_a_lease_is_not_given_up_while_a_write_is_under_way() -> None:
    race = Race()
    race.run(10)
    seen: list[tuple[bool, str]] = []

    def is_quiet() -> bool:
        race.all[1].tick()
        seen.append((race.all[0].leads(), race.all[1].holder))
        return len(seen) == 3

    race.all[0].release(is_quiet)
    assert seen == [(False, "c0")] * 3  # no new work starts, and no other may take over yet
    race.run(3, 1)
    assert race.leaders() == [1]


def test_a_lease_is_given_up_once_the_longest_write_must_have_landed() -> None:
    race = Race()
    race.run(10)
    began = race.clock.monotonic()
    race.all[0].release(lambda: False)
    longest = race.all[0].config.longest_write
    assert race.clock.monotonic() - began == pytest.approx(longest, abs=0.1)
    race.run(3, 1)
    assert race.leaders() == [1]


def test_a_renewal_whose_answer_is_lost_does_not_make_a_leader() -> None:
    race = Race()
    race.run(10)
    race.lines[0].loses_answers = True
    race.run(race.all[0].config.renew_within + 2)
    assert 0 not in race.leaders()
    race.lines[0].loses_answers = False
    race.run(4)
    assert race.leaders() == [0]


def test_wall_clocks_that_jump_change_nothing() -> None:
    race = Race()
    race.run(10)
    race.clock.jump_wall(86_400)
    race.run(10)
    assert race.leaders() == [0]
    race.clock.jump_wall(-3 * 86_400)
    race.run(10)
    assert race.leaders() == [0]


def test_a_lease_that_is_too_short_for_a_write_in_flight_is_refused() -> None:
    with pytest.raises(InputError, match="longest write"):
        LeaseConfig("kube-system", "stretto", "me", duration=10, renew_within=8)


def test_a_candidate_that_was_asleep_does_not_lead() -> None:
    race = Race()
    race.run(10)
    race.clock.advance(60)
    assert race.leaders() == []
    assert race.all[0].standing(race.clock.monotonic()) is STANDBY
    race.run(1, 0)
    assert race.all[0].standing(race.clock.monotonic()) is LEADER


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["cut", "heal", "lose"]), st.floats(0.5, 25)),
        max_size=12,
    )
)
def test_two_never_lead_at_once_and_the_next_waits_out_the_longest_write(
    plan: list[tuple[int, str, float]],
) -> None:
    race = Race(3)
    last: tuple[int, float] = (-1, 0.0)
    for who, what, seconds in plan:
        race.lines[who].is_down = what == "cut"
        race.lines[who].loses_answers = what == "lose"
        for _ in range(int(seconds * 2)):
            race.run(0.5)
            leaders = race.leaders()
            assert len(leaders) <= 1
            if leaders:
                now = race.clock.monotonic()
                change = leaders[0] != last[0] and last[0] >= 0
                assert not change or now - last[1] >= race.all[0].config.longest_write - 1
                last = (leaders[0], now)


@pytest.mark.parametrize("duration", [8.0, 10.5, 15.0, 60.0])
def test_a_lease_of_any_length_ends_after_what_its_leader_may_still_write(duration: float) -> None:
    config = LeaseConfig.of_duration(duration, "kube-system", "stretto", "me")
    assert config.renew_within + config.longest_write <= duration
    assert config.every * 4 <= config.renew_within or config.every == 2.0


class Barred(Cut):
    """A line on which rights are missing."""

    no_reading = no_writing = False

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        if self.no_reading:
            raise NotAllowedError("get leases", "forbidden")
        return super().get(kind, namespace, name)

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        said = "create leases is not allowed: forbidden"
        refused = [Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN, said)]
        return refused if self.no_writing else self.inner.create(kind, bodies)


@pytest.mark.parametrize("right", ["no_reading", "no_writing"])
def test_a_right_that_is_missing_from_the_start_differs_from_a_revoked_one(
    right: str,
) -> None:
    clock = ManualClock(100.0)
    line = Barred(MemoryStore(clock, Rng(1)))
    elector = LeaderElector(line, LeaseConfig("kube-system", "stretto", "me"), clock)
    setattr(line, right, True)
    elector.tick()
    assert elector.barred is None  # the server may not have loaded its RBAC rules yet
    clock.advance(GRANTED_WITHIN)
    elector.tick()
    assert "leases is not allowed: forbidden" in str(elector.barred)
    setattr(line, right, False)
    elector.tick()
    assert elector.barred is None
    setattr(line, right, True)
    line.inner.delete(LEASE, [Deletion("kube-system", "stretto")])
    elector.tick()
    assert elector.trouble
    assert elector.barred is None


def test_a_released_lease_has_no_holder_at_all_because_a_server_refuses_an_empty_one() -> None:
    race = Race()
    race.run(5, 0)
    race.all[0].release()
    record = race.lines[0].inner.get(LEASE, "kube-system", "stretto")
    assert record is not None
    assert b"holderIdentity" not in record.body
