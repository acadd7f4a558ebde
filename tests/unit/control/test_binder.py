"""The binder over a store whose answers the test chooses."""

from collections.abc import Sequence
from typing import Any

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.binder.binder import READ_BACK_AFTER, Binder
from stretto.control.binder.conflicts import ClaimChecks, PlanJudge
from stretto.control.pump import Pump
from stretto.state.queries.invariants import check_all
from stretto.state.rows.lifecycle import PodState
from stretto.state.work.claims import CommitMode, ConflictCause, ConflictMode, Plan
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Bind, Deletion, Reply, StatusReason, WriteOutcome
from stretto.testing import make_node, make_pod
from tests.support.hand_fed_cluster import MODIFIED, ClusterFeed
from tests.support.plans import plan_of, units_of, wait_for

LOST = Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT)


class Desk(ClusterFeed):
    """A memory store, a cluster that has seen it, and a binder between them."""

    def __init__(self, *pods: bytes, nodes: Sequence[str] = ("n", "m")) -> None:
        super().__init__()
        self.store = MemoryStore(ManualClock(), Rng(0))
        self.answers: list[Reply | None] = []
        self.sent: list[Bind] = []
        self._bind, self.store.bind = self.store.bind, self.answer  # type: ignore[method-assign]
        self.store.create(NODE, [make_node(name, cpu="4", gpus=2) for name in nodes])
        self.store.create(POD, pods)
        self.pump = Pump(self.store, self.cluster)
        self.see()

    def see(self) -> None:
        """The cluster as the store is."""
        self.pump.poll(0.0)

    def answer(self, binds: Sequence[Bind]) -> list[Reply]:
        """The chosen answers, ``None`` for the store's own; a lost request is never done."""
        self.sent += binds
        chosen = [self.answers.pop(0) if self.answers else None for _ in binds]
        return [each or self._bind([bind])[0] for each, bind in zip(chosen, binds, strict=True)]

    def plan(self, claims: dict[str, str], **more: Any) -> Plan:
        """Names of pods to names of nodes."""
        uids = {}
        for name, node in claims.items():
            record = self.store.get(POD, "default", name)
            assert record is not None
            uids[record.uid] = node
        wait_for(self, *uids)
        plan = plan_of(self, uids, **more)
        self.binder = Binder(self.cluster, units_of(plan), self.store, self.judge())
        return plan

    def judge(self) -> PlanJudge:
        return PlanJudge(
            self.cluster, ClaimChecks(lambda _c, _s: True), ConflictMode.FIT, CommitMode.INCREMENTAL
        )

    def state_of(self, name: str) -> PodState:
        pods = self.cluster.pods
        return next(PodState(int(pods.state[r])) for r in pods.rows() if pods.name[r] == name)


def test_a_granted_claim_is_bound_and_charged() -> None:
    desk = Desk(make_pod("p", cpu="1"))
    plan = desk.plan({"p": "n"})
    verdict = desk.binder.commit(plan, 0.0)
    assert (len(verdict.granted), verdict.refused, desk.used("n")) == (1, [], 1000)
    assert desk.store.get(POD, "default", "p").node == "n"  # type: ignore[union-attr]


def test_a_pod_is_charged_before_its_bind_is_sent() -> None:
    desk, used = Desk(make_pod("p", cpu="1")), list[int]()
    plan = desk.plan({"p": "n"})
    desk.binder._failpoint = lambda _name: used.append(desk.used("n"))
    desk.binder.commit(plan, 0.0)
    assert used == [1000, 1000, 1000]


def test_the_echo_of_a_bind_confirms_it() -> None:
    desk = Desk(make_pod("p"))
    plan = desk.plan({"p": "n"})
    desk.binder.commit(plan, 0.0)
    assert desk.state_of("p") is PodState.ASSUMED
    desk.see()
    assert desk.state_of("p") is PodState.BOUND


def test_chosen_devices_are_written_with_the_bind() -> None:
    desk = Desk(make_pod("p", gpus=1))
    plan = desk.plan({"p": "n"}, devices=[2])
    desk.binder.commit(plan, 0.0)
    assert desk.sent[0].annotations == {"stretto.dev/gpu-devices": "1"}


def test_a_pod_without_devices_carries_no_note() -> None:
    desk = Desk(make_pod("p"))
    plan = desk.plan({"p": "n"})
    desk.binder.commit(plan, 0.0)
    assert desk.sent[0].annotations is None


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN), ConflictCause.STORE_REFUSED),
        (Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND), ConflictCause.POD_DELETED),
        (Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT), ConflictCause.STORE_CONFLICT),
    ],
)
def test_a_no_of_the_store_gives_the_claim_back(reply: Reply, cause: ConflictCause) -> None:
    desk = Desk(make_pod("p", cpu="1"))
    plan = desk.plan({"p": "n"})
    desk.answers = [reply]
    verdict = desk.binder.commit(plan, 0.0)
    assert [each[2] for each in verdict.refused] == [cause]
    assert (desk.used("n"), desk.state_of("p")) == (0, PodState.PENDING)


def test_an_equal_binding_is_success() -> None:
    desk = Desk(make_pod("p"))
    plan = desk.plan({"p": "n"})
    record = desk.store.get(POD, "default", "p")
    assert record is not None
    desk._bind([Bind("default", "p", record.uid, "n")])
    assert desk.binder.commit(plan, 0.0).refused == []


def test_a_bind_by_another_client_in_between_is_a_conflict() -> None:
    desk = Desk(make_pod("p", cpu="1"))
    plan = desk.plan({"p": "n"})
    record = desk.store.get(POD, "default", "p")
    assert record is not None
    desk._bind([Bind("default", "p", record.uid, "m")])
    assert desk.binder.commit(plan, 0.0).refused[0][2] is ConflictCause.STORE_CONFLICT
    desk.see()
    assert (desk.used("n"), desk.used("m"), desk.state_of("p")) == (0, 1000, PodState.BOUND)


# ---------------------------------------------------------------- replies that were lost


def in_doubt(landed: bool = False, **more: Any) -> Desk:
    """A pod claimed for n whose bind went unanswered, and whether the bind took effect."""
    desk = Desk(make_pod("p", cpu="1", **more))
    plan = desk.plan({"p": "n"})
    desk.answers = [LOST]
    desk.binder.commit(plan, 0.0)
    if landed:
        desk._bind(desk.sent)
    desk.sent.clear()
    return desk


def test_an_unknown_keeps_the_claim_until_it_is_read_back() -> None:
    desk = in_doubt()
    assert desk.binder.resolve_unanswered(READ_BACK_AFTER / 2) == []
    assert (desk.used("n"), desk.state_of("p"), desk.sent) == (1000, PodState.ASSUMED, [])
    assert desk.binder.next_due() == READ_BACK_AFTER


def test_a_bind_that_was_done_is_not_sent_again() -> None:
    desk = in_doubt(landed=True)
    assert desk.binder.resolve_unanswered(READ_BACK_AFTER) == []
    assert (desk.sent, desk.binder.in_doubt, desk.used("n")) == ([], {}, 1000)


def test_a_bind_that_was_not_done_is_sent_again_to_the_same_node() -> None:
    desk = in_doubt()
    desk.binder.resolve_unanswered(READ_BACK_AFTER)
    assert [bind.node for bind in desk.sent] == ["n"]
    assert desk.store.get(POD, "default", "p").node == "n"  # type: ignore[union-attr]


def test_a_doubtful_pod_that_has_gone_gives_its_claim_back() -> None:
    desk = in_doubt()
    desk.store.delete(POD, [Deletion("default", "p")])
    refused = desk.binder.resolve_unanswered(READ_BACK_AFTER)
    assert [each[2] for each in refused] == [ConflictCause.POD_DELETED]
    assert desk.used("n") == 0


def test_a_doubtful_pod_that_another_client_bound_releases_its_claim() -> None:
    desk = in_doubt()
    record = desk.store.get(POD, "default", "p")
    assert record is not None
    desk._bind([Bind("default", "p", record.uid, "m")])
    refused = desk.binder.resolve_unanswered(READ_BACK_AFTER)
    assert [each[2] for each in refused] == [ConflictCause.STORE_CONFLICT]


def test_a_doubtful_pod_whose_node_vanished_is_not_bound_to_another() -> None:
    desk = in_doubt()
    desk.lose("n")
    refused = desk.binder.resolve_unanswered(READ_BACK_AFTER)
    assert [each[2] for each in refused] == [ConflictCause.NODE_DELETED]
    assert (desk.sent, desk.state_of("p"), check_all(desk.cluster)) == ([], PodState.PENDING, [])


def test_an_echo_settles_a_doubt() -> None:
    desk = in_doubt(landed=True)
    desk.see()
    assert desk.binder.resolve_unanswered(READ_BACK_AFTER) == []
    assert (desk.state_of("p"), desk.sent) == (PodState.BOUND, [])


def test_a_store_may_state_the_time_of_the_retry() -> None:
    desk = Desk(make_pod("p"))
    plan = desk.plan({"p": "n"})
    desk.answers = [Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, retry_after=7.0)]
    desk.binder.commit(plan, 1.0)
    assert desk.binder.next_due() == 8.0


def test_a_new_binder_reads_back_whatever_is_assumed() -> None:
    desk = in_doubt(landed=True)
    fresh = Binder(desk.cluster, desk.binder._units, desk.store, desk.judge())
    assert (len(fresh.in_doubt), fresh.next_due()) == (1, 0.0)
    assert (fresh.resolve_unanswered(0.0), desk.sent) == ([], [])


def test_a_doubt_about_a_row_that_is_used_again_is_dropped() -> None:
    desk = in_doubt()
    desk.ingest.end(next(iter(desk.binder.in_doubt)))
    desk.pod(make_pod("new"))
    assert desk.binder.resolve_unanswered(READ_BACK_AFTER) == []
    assert (desk.sent, desk.binder.in_doubt) == ([], {})


def test_what_became_of_claims_is_counted() -> None:
    desk = Desk(make_pod("p", cpu="3"), make_pod("q", cpu="3"), make_pod("r"))
    plan = desk.plan({"p": "n", "q": "n", "r": "m"})
    desk.answers = [None, LOST]
    desk.binder.commit(plan, 0.0)
    expected = {"granted": 2, "bound": 1, "unknown": 1, "no longer fits": 1}
    assert dict(desk.binder.counts) == expected


def test_a_repeated_node_report_in_between_does_not_matter() -> None:
    desk = Desk(make_pod("p"))
    plan = desk.plan({"p": "n"})
    desk.node(make_node("n", cpu="4", gpus=2), MODIFIED, uid=desk.cluster.nodes.uids[0])
    assert len(desk.binder.commit(plan, 0.0).granted) == 1
