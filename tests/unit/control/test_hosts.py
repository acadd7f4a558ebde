"""Hosts that answer claims: mailboxes, next best hosts, tentative claims of gangs."""

from collections.abc import Callable

import numpy as np
import pytest

from stretto.base.errors import InputError
from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.control.binder.hosts.judge import HostJudge, HostPool
from stretto.control.binder.hosts.mailboxes import HostMailboxes, HostRequest
from stretto.control.binder.hosts.tentative import TentativeClaims
from stretto.framework.profile.host_rules import HostRules, read_hosts
from stretto.state.queries.invariants import ledger_equals_rows, overcommitted
from stretto.state.work.claims import CommitMode, ConflictCause, ConflictMode, OtherHosts, Plan
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import DELETED, ClusterFeed
from tests.support.plans import plan_of, wait_for


class DeadBinderError(Exception):
    """The binder dies here."""


class Hosts:
    """Nodes a, b and c with one core each, and pods of one core that request for them in order."""

    def __init__(self, pods: int = 3, cores: str = "1") -> None:
        self.feed = ClusterFeed(*(make_node(name, cpu=cores) for name in "abc"))
        for number in range(pods):
            self.feed.pod(make_pod(f"p{number}", cpu="1"))
            wait_for(self.feed, f"p{number}")
        self.pool = HostPool(HostMailboxes(), TentativeClaims(self.feed.cluster, 10.0))
        self.now = 0.0
        self.judge = self.binder()

    def binder(self, failpoint: Callable[[str], None] = lambda _: None) -> HostJudge:
        checks = ClaimChecks(lambda _class, _slot: True)
        each = PlanJudge(self.feed.cluster, checks, ConflictMode.HOSTS, CommitMode.INCREMENTAL)
        return HostJudge(each, self.pool, lambda: self.now, failpoint)

    def plan(self, hosts: int, pods: str = "012", gang: int = 0) -> Plan:
        """Every pod requests a, then b, then c: so many of them."""
        units = [len(pods)] if gang else ()
        plan = plan_of(self.feed, {f"p{n}": "a" for n in pods}, units, at_least=gang)
        slots = np.array([self.feed.slot(name) for name in "abc"[1:hosts]], np.int32)
        others = OtherHosts(
            slots,
            self.feed.cluster.ledger.slots.generation[slots],
            np.arange(1, hosts, dtype=np.int32),
        )
        return plan._replace(alternatives={i: others for i in range(len(pods)) if hosts > 1})

    def used(self) -> list[int]:
        return [self.feed.used(name) for name in "abc"]


def test_a_mailbox_is_answered_in_the_order_of_arrival() -> None:
    mail = HostMailboxes()
    for host, claim in ((1, 10), (2, 20), (1, 11)):
        mail.post(host, HostRequest(claim, 0))
    turns = [turn for _ in range(4) if (turn := mail.take())]
    assert [(host, request.claim) for host, request in turns] == [(1, 10), (2, 20), (1, 11)]


def test_three_tasks_with_one_host_each_need_two_more_decisions() -> None:
    hosts = Hosts()
    found = hosts.judge.judge(hosts.plan(hosts=1))
    assert found.granted.tolist() == [0]
    assert [cause for _, _, cause in found.refused] == [ConflictCause.DOES_NOT_FIT] * 2


def test_three_tasks_with_three_hosts_each_are_placed_at_once_first_come_first_served() -> None:
    hosts = Hosts()
    found = hosts.judge.judge(hosts.plan(hosts=3))
    assert (found.granted.tolist(), hosts.used()) == ([0, 1, 2], [1000, 1000, 1000])
    assert (dict(hosts.judge.ranks), hosts.judge.behind) == ({0: 1, 1: 1, 2: 1}, 1 + 2)


def test_a_claim_that_all_its_hosts_refuse_is_decided_again() -> None:
    hosts = Hosts(pods=4)
    found = hosts.judge.judge(hosts.plan(hosts=3, pods="0123"))
    assert (len(found.granted), found.refused[0][1]) == (3, (hosts.feed.row("p3"),))
    assert overcommitted(hosts.feed.cluster) == []


def test_a_host_that_was_replaced_refuses() -> None:
    hosts = Hosts(pods=2)
    plan = hosts.plan(hosts=2, pods="01")
    hosts.feed.cluster.ledger.slots.generation[hosts.feed.slot("b")] += 1
    assert hosts.judge.judge(plan).granted.tolist() == [0]


@pytest.mark.parametrize(("gang", "used"), [(3, [1000, 1000, 1000]), (2, [1000, 1000, 1000])])
def test_a_gang_is_granted_over_several_hosts(gang: int, used: list[int]) -> None:
    hosts = Hosts()
    hosts.judge.judge(hosts.plan(hosts=3, gang=gang))
    assert (hosts.used(), len(hosts.pool.tentative)) == (used, 0)


def test_a_gang_that_too_few_hosts_grant_leaves_no_trace() -> None:
    hosts = Hosts(pods=4)
    found = hosts.judge.judge(hosts.plan(hosts=3, pods="0123", gang=4))
    assert (len(found.granted), hosts.used(), len(hosts.pool.tentative)) == (0, [0, 0, 0], 0)


def dead(hosts: Hosts) -> None:
    """A binder dies while the claims of a gang are undecided."""

    def die(_: str) -> None:
        raise DeadBinderError

    with pytest.raises(DeadBinderError):
        hosts.binder(die).judge(hosts.plan(hosts=3, gang=3))


def test_hosts_hold_the_claims_of_a_dead_binder_for_their_time_to_live() -> None:
    hosts = Hosts()
    dead(hosts)
    assert hosts.used() == [1000, 1000, 1000]
    hosts.judge.expire(9.9)
    assert (hosts.used(), hosts.judge.next_due()) == ([1000, 1000, 1000], 10.0)
    hosts.judge.expire(10.0)
    assert hosts.used() == [0, 0, 0]


def test_a_successor_releases_the_tentative_claims_of_a_dead_binder() -> None:
    hosts = Hosts()
    dead(hosts)
    hosts.binder()
    assert (hosts.used(), len(hosts.pool.tentative)) == ([0, 0, 0], 0)


def test_a_pod_that_is_decided_again_gives_up_its_tentative_claim() -> None:
    hosts = Hosts()
    dead(hosts)
    found = hosts.judge.judge(hosts.plan(hosts=1, pods="0"))
    assert (found.granted.tolist(), hosts.used()) == ([0], [1000, 1000, 1000])
    assert ledger_equals_rows(hosts.feed.cluster) == []


def test_a_deleted_pod_is_not_refunded_twice() -> None:
    hosts = Hosts()
    dead(hosts)
    hosts.feed.pod(make_pod("p0", cpu="1"), DELETED)
    hosts.judge.expire(10.0)
    assert (hosts.used(), ledger_equals_rows(hosts.feed.cluster)) == ([0, 0, 0], [])


@pytest.mark.parametrize(
    ("in_flight", "count"), [(0, 1), (1, 2), (3, 3), (7, 4), (100, 7), (10**6, 16)]
)
def test_the_number_of_hosts_follows_the_logarithm_of_the_decisions_in_flight(
    in_flight: int, count: int
) -> None:
    assert HostRules().count(in_flight) == count
    assert HostRules(candidates=3).count(in_flight) == 3


@pytest.mark.parametrize("value", [{"candidates": 0}, {"candidates": 17}, {"candidates": "many"}])
def test_an_invalid_number_of_hosts_is_refused_with_its_path(value: dict[str, object]) -> None:
    with pytest.raises(InputError, match=r"stretto\.hosts\.candidates"):
        read_hosts(value, "stretto.hosts")
