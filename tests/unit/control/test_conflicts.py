"""The judge alone: hand-made plans on a cluster that has changed since they were made."""

import numpy as np
import pytest

from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.state.queries.invariants import (
    InvariantBreach,
    check_all,
    devices_equal_rows,
    ledger_equals_rows,
    overcommitted,
    ports_equal_rows,
)
from stretto.state.work.claims import CommitMode, ConflictCause, ConflictMode
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import MODIFIED, ClusterFeed
from tests.support.plans import plan_of, wait_for

FIT, VERSION = ConflictMode.FIT, ConflictMode.VERSION
EACH, ALL = CommitMode.INCREMENTAL, CommitMode.ALL_OR_NOTHING


def court(cpu: str = "1", pods: int = 3, **more: object) -> ClusterFeed:
    """Node n of 4 cores and node m of 4, and pods p0.. handed to a shard."""
    feed = ClusterFeed(make_node("n", cpu="4", gpus=2), make_node("m", cpu="4", gpus=2))
    for number in range(pods):
        feed.pod(make_pod(f"p{number}", cpu=cpu, **more))
        wait_for(feed, f"p{number}")
    return feed


def sums(feed: ClusterFeed) -> list[InvariantBreach]:
    """The books without the pods' states: those are the binder's."""
    checks = (ledger_equals_rows, devices_equal_rows, ports_equal_rows)
    return [breach for check in checks for breach in check(feed.cluster)]


def judge(
    feed: ClusterFeed,
    conflicts: ConflictMode = FIT,
    commit: CommitMode = EACH,
    eligible: bool = True,
) -> PlanJudge:
    return PlanJudge(feed.cluster, ClaimChecks(lambda _class, _slot: eligible), conflicts, commit)


def test_claims_that_hold_are_granted_and_charged() -> None:
    feed = court()
    reported = judge(feed).judge(plan_of(feed, {"p0": "n", "p1": "m"}))
    assert (reported.granted.tolist(), reported.refused) == ([0, 1], [])
    assert (feed.used("n"), feed.used("m")) == (1000, 1000)


def test_an_empty_plan_is_granted() -> None:
    assert len(judge(court()).judge(plan_of(court(), {})).granted) == 0


def test_the_first_claim_wins() -> None:
    feed = court(cpu="3")
    first, second = plan_of(feed, {"p0": "n"}), plan_of(feed, {"p1": "n"})
    said = judge(feed)
    assert said.judge(first).granted.tolist() == [0]
    assert said.judge(second).refused[0][2] is ConflictCause.DOES_NOT_FIT


def test_by_fit_a_changed_node_is_no_conflict() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"})
    feed.cluster.ledger.touch([feed.slot("n")])
    assert judge(feed, FIT).judge(plan).granted.tolist() == [0]


def test_by_version_a_changed_node_is_a_conflict() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n", "p1": "m"})
    feed.cluster.ledger.touch([feed.slot("n")])
    reported = judge(feed, VERSION).judge(plan)
    assert reported.granted.tolist() == [1]
    assert reported.refused[0][1:] == ((feed.row("p0"),), ConflictCause.NODE_CHANGED)


def test_by_version_claims_of_one_plan_on_one_node_do_not_conflict() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n", "p1": "n", "p2": "n"})
    assert len(judge(feed, VERSION).judge(plan).granted) == 3


def test_by_version_one_claim_too_many_leaves_the_others_alone() -> None:
    feed = court(cpu="2")
    plan = plan_of(feed, {"p0": "n", "p1": "n", "p2": "n"})
    reported = judge(feed, VERSION).judge(plan)
    assert reported.granted.tolist() == [0, 1]
    assert reported.refused[0][2] is ConflictCause.DOES_NOT_FIT


def test_incremental_grants_what_is_left_of_a_unit() -> None:
    feed = court(cpu="2")
    reported = judge(feed, FIT, EACH).judge(plan_of(feed, {"p0": "n", "p1": "n", "p2": "n"}, [3]))
    assert reported.granted.tolist() == [0, 1]


def test_all_or_nothing_refuses_the_whole_unit() -> None:
    feed = court(cpu="2")
    reported = judge(feed, FIT, ALL).judge(plan_of(feed, {"p0": "n", "p1": "n", "p2": "n"}, [3]))
    assert (reported.granted.tolist(), len(reported.refused[0][1])) == ([], 3)
    assert (feed.used("n"), feed.used("m")) == (0, 0)


def test_all_or_nothing_leaves_other_units_alone() -> None:
    feed = court(cpu="3")
    reported = judge(feed, FIT, ALL).judge(plan_of(feed, {"p0": "n", "p1": "n", "p2": "m"}, [1, 2]))
    assert reported.granted.tolist() == [0]
    assert feed.used("m") == 0


def test_a_gang_that_lacks_more_than_it_claims_is_refused_though_its_claims_stand() -> None:
    feed = court(cpu="3")
    plan = plan_of(feed, {"p0": "n", "p1": "m", "p2": "n"}, [2, 1], at_least=3)
    reported = judge(feed).judge(plan)
    assert reported.granted.tolist() == []
    assert reported.refused[0][2] is ConflictCause.GANG_SHORT
    assert (feed.used("n"), feed.used("m"), sums(feed)) == (0, 0, [])


def test_a_gang_that_is_short_is_refused_and_leaves_no_trace() -> None:
    feed = court(cpu="2")
    plan = plan_of(feed, {"p0": "n", "p1": "n", "p2": "n"}, [3], at_least=3)
    reported = judge(feed).judge(plan)
    assert (reported.granted.tolist(), len(reported.refused[0][1])) == ([], 3)
    assert (feed.used("n"), check_all(feed.cluster)) == (0, [])


@pytest.mark.parametrize("others", [0, 1, 2])
def test_an_extra_gang_member_is_rejected_once_other_members_are_gone(others: int) -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"}, at_least=1)
    gang = plan.units[0].unit  # whole when this was planned
    gang.min_member, gang.bound = 3, set(range(100, 100 + others))
    reported = judge(feed).judge(plan)
    granted = len(reported.granted) > 0
    assert (granted, feed.used("n")) == ((others == 2), 1000 * (others == 2))
    assert [cause for _, _, cause in reported.refused] == [ConflictCause.GANG_SHORT] * (not granted)


def test_a_gang_that_was_whole_once_is_topped_up_pod_by_pod() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"}, at_least=1)
    plan.units[0].unit.min_member, plan.units[0].unit.scheduled = 3, True
    assert judge(feed).judge(plan).granted.tolist() == [0]


def test_a_gang_that_still_stands_is_granted_without_the_losers() -> None:
    feed = court(cpu="2")
    plan = plan_of(feed, {"p0": "n", "p1": "n", "p2": "n"}, [3], at_least=2)
    assert judge(feed).judge(plan).granted.tolist() == [0, 1]


def test_a_node_that_vanished_takes_no_claim() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n", "p1": "m"})
    feed.lose("n")
    reported = judge(feed).judge(plan)
    assert (reported.granted.tolist(), reported.refused[0][2]) == ([1], ConflictCause.NODE_DELETED)


def test_a_namesake_of_the_node_takes_no_claim() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"})
    feed.lose("n")
    feed.node(make_node("n"), uid="another")
    assert judge(feed).judge(plan).refused[0][2] is ConflictCause.NODE_DELETED


def test_a_node_that_is_no_longer_eligible_takes_no_claim() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"})
    feed.node(make_node("n", cpu="4", gpus=2, unschedulable=True), MODIFIED)
    reported = judge(feed, eligible=False).judge(plan)
    assert reported.refused[0][2] is ConflictCause.NOT_ELIGIBLE


def test_a_node_that_shrank_takes_no_claim() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"})
    feed.node(make_node("n", cpu="500m", gpus=2), MODIFIED)
    assert judge(feed).judge(plan).refused[0][2] is ConflictCause.DOES_NOT_FIT


def test_a_pod_that_has_gone_is_not_charged() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"})
    feed.ingest.end(feed.row("p0"))
    reported = judge(feed).judge(plan)
    assert (reported.refused[0][2], feed.used("n")) == (ConflictCause.POD_DELETED, 0)


def test_a_row_that_is_used_again_is_another_pod() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"})
    feed.ingest.end(feed.row("p0"))
    feed.pod(make_pod("new"))
    wait_for(feed, "new")
    assert judge(feed).judge(plan).refused[0][2] is ConflictCause.POD_DELETED


def test_one_port_is_given_once() -> None:
    feed = court(ports=[80])
    reported = judge(feed).judge(plan_of(feed, {"p0": "n", "p1": "n", "p2": "m"}))
    assert reported.granted.tolist() == [0, 2]


def test_one_device_is_given_once() -> None:
    feed = court(gpus=1)
    plan = plan_of(feed, {"p0": "n", "p1": "n", "p2": "n"}, devices=[1, 1, 2])
    reported = judge(feed).judge(plan)
    assert (reported.granted.tolist(), overcommitted(feed.cluster)) == ([0, 2], [])


def test_slots_of_refused_claims_are_read_again_by_every_snapshot() -> None:
    feed = court()
    plan = plan_of(feed, {"p0": "n"})
    feed.ingest.end(feed.row("p0"))
    before = feed.cluster.ledger.head
    judge(feed).judge(plan)
    changed = feed.cluster.ledger.changes_since(before)
    assert changed is not None
    assert feed.slot("n") in changed.tolist()


def test_a_rejection_is_no_change_so_it_counts_as_no_conflict() -> None:
    feed = court()
    refused = plan_of(feed, {"p0": "n"})
    feed.cluster.ledger.touch([feed.slot("n")])
    other, said = plan_of(feed, {"p1": "n"}), judge(feed, VERSION)
    assert said.judge(refused).granted.tolist() == []
    assert said.judge(other).granted.tolist() == [0]


def test_a_claim_rejected_with_its_unit_counts_as_no_conflict() -> None:
    feed = court()
    refused, other = plan_of(feed, {"p0": "n", "p1": "m"}, [2]), plan_of(feed, {"p2": "m"})
    feed.cluster.ledger.touch([feed.slot("n")])
    said = judge(feed, VERSION, ALL)
    assert said.judge(refused).granted.tolist() == []
    assert said.judge(other).granted.tolist() == [0]


def test_a_slot_that_was_granted_to_one_has_changed_for_the_next() -> None:
    feed = court(cpu="1")
    first, second = plan_of(feed, {"p0": "n", "p1": "n"}), plan_of(feed, {"p2": "n"})
    feed.ingest.end(feed.row("p0"))
    said = judge(feed, VERSION)
    assert said.judge(first).granted.tolist() == [1]
    assert said.judge(second).refused[0][2] is ConflictCause.NODE_CHANGED


@pytest.mark.parametrize("special", [{}, {"ports": [80]}, {"gpus": 1}])
def test_a_plan_that_fails_the_fast_path_keeps_the_accounts_consistent(special: dict) -> None:  # type: ignore[type-arg]
    feed = court(cpu="3", **special)
    judge(feed).judge(plan_of(feed, {"p0": "n", "p1": "n", "p2": "m"}, devices=[1, 1, 1]))
    assert sums(feed) == []
    assert np.array_equal(feed.cluster.ledger.used[[0, 1], 0], [3000, 3000])
