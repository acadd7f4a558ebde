"""Random plans: the quick way grants what the careful way grants, and no node gets too much."""

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from stretto.api.codec import decode_as
from stretto.api.types.cnr import CustomNodeResource
from stretto.control.binder.conflicts import ClaimChecks, Judgement, PlanJudge
from stretto.state.classes.annotations import CPU_ENHANCEMENT
from stretto.state.numa.ledger import with_numa_nodes
from stretto.state.queries.invariants import (
    devices_equal_rows,
    ledger_equals_rows,
    numa_nodes_equal_rows,
    overcommitted,
    ports_equal_rows,
)
from stretto.state.work.claims import CommitMode, ConflictMode, Plan
from stretto.testing import make_node, make_pod, make_report, numa_notes
from tests.support.hand_fed_cluster import MODIFIED, ClusterFeed
from tests.support.plans import plan_of, wait_for

SOCKET = '{"align_by_socket": "true"}'
FORMS: list[dict[str, Any]] = [
    {"cpu": "500m"},
    {"cpu": "2"},
    {"cpu": "100m", "ports": [80]},
    {"cpu": "100m", "gpus": 1},
    {"cpu": "100m", "gpus": 1, "gpu_milli": 400},
    {"cpu": "1", "annotations": numa_notes()},
    {"cpu": "1", "annotations": numa_notes(exclusive=True)},
    {"cpu": "100m", "gpus": 1, "annotations": numa_notes()},
    {"cpu": "100m", "annotations": numa_notes(**{CPU_ENHANCEMENT: SOCKET})},
]
NODES = ["n0", "n1", "n2"]
SMALL, LARGE = {"cpu": "1", "memory": "2Gi"}, {"cpu": "2", "memory": "2Gi"}


class Case(NamedTuple):
    """One plan, what happened since, and the modes."""

    pods: list[int]
    places: list[int]
    devices: list[int]
    sizes: list[int]
    least: int
    since: list[tuple[str, int]]
    conflicts: ConflictMode
    commit: CommitMode


cases = st.builds(
    Case,
    pods=st.lists(st.integers(0, len(FORMS) - 1), min_size=1, max_size=8),
    places=st.lists(st.integers(0, 2), min_size=8, max_size=8),
    devices=st.lists(st.sampled_from([1, 2, 3]), min_size=8, max_size=8),
    sizes=st.lists(st.integers(1, 4), min_size=8, max_size=8),
    least=st.integers(0, 4),
    since=st.lists(
        st.tuples(
            st.sampled_from(["touch", "lose", "shrink", "end", "new", "report"]), st.integers(0, 7)
        ),
        max_size=3,
    ),
    conflicts=st.sampled_from(ConflictMode),
    commit=st.sampled_from(CommitMode),
)


def prepare(case: Case) -> tuple[ClusterFeed, Plan]:
    feed = ClusterFeed(*[make_node(name, cpu="3", gpus=2) for name in NODES])
    for name in NODES:
        report(feed, name, [LARGE, SMALL])
    claims = {}
    for number, form in enumerate(case.pods):
        feed.pod(make_pod(f"p{number}", **FORMS[form]))
        wait_for(feed, f"p{number}")
        claims[f"p{number}"] = NODES[case.places[number]]
    sizes, left = [], len(claims)
    while left > 0:
        sizes.append(min(left, case.sizes[len(sizes)]))
        left -= sizes[-1]
    least = min(case.least, *sizes)
    masks = [mask_of(FORMS[form], case.devices[i]) for i, form in enumerate(case.pods)]
    plan = plan_of(feed, claims, sizes, least, masks)
    for what, which in case.since:
        happen(feed, what, which)
    return feed, plan


def report(feed: ClusterFeed, name: str, zones: list[dict[str, str]]) -> None:
    feed.cluster.node_updates.put_report(
        decode_as(CustomNodeResource, make_report(name, zones), name)
    )


def mask_of(form: dict[str, Any], number: int) -> int:
    """Devices or NUMA nodes of a form that requests them."""
    return with_numa_nodes(number if "gpus" in form else 0, number if "annotations" in form else 0)


def happen(feed: ClusterFeed, what: str, which: int) -> None:
    node, row = NODES[which % 3], feed.cluster.pods.row(f"p{which}")
    if what == "touch" and node in feed.cluster.nodes.by_name:
        feed.cluster.ledger.touch([feed.slot(node)])
    elif what == "lose":
        feed.lose(node)
    elif what == "shrink":
        feed.node(make_node(node, cpu="1", gpus=2), MODIFIED)
    elif what == "new":
        feed.node(make_node(node, cpu="3", gpus=2), uid=f"again{which}")
    elif what == "report":
        report(feed, node, [SMALL, SMALL] if which > 2 else [])
    elif what == "end" and row is not None:
        feed.ingest.end(row)


def judged(case: Case, quick: bool) -> tuple[ClusterFeed, Plan, Judgement]:
    feed, plan = prepare(case)
    judge = PlanJudge(
        feed.cluster, ClaimChecks(lambda _class, _slot: True), case.conflicts, case.commit
    )
    if not quick:
        judge._grant_all = lambda _plan: False  # type: ignore[method-assign]
    return feed, plan, judge.judge(plan)


@given(cases)
def test_the_quick_way_grants_what_the_careful_way_grants(case: Case) -> None:
    feed, _, quick = judged(case, quick=True)
    others, _, careful = judged(case, quick=False)
    assert quick.granted.tolist() == careful.granted.tolist()
    assert [each[1:] for each in quick.refused] == [each[1:] for each in careful.refused]
    assert (feed.cluster.ledger.used == others.cluster.ledger.used).all()
    assert (feed.cluster.ledger.devices.free == others.cluster.ledger.devices.free).all()
    assert feed.cluster.topology.holdings == others.cluster.topology.holdings
    assert (feed.cluster.topology.taken == others.cluster.topology.taken).all()
    assert (feed.cluster.pods.devices == others.cluster.pods.devices).all()


@given(cases)
def test_a_gang_given_up_at_first_sight_is_one_that_fails_claim_by_claim(case: Case) -> None:
    feed, _, quick = judged(case, quick=False)
    other, plan = prepare(case)
    slow = PlanJudge(
        other.cluster, ClaimChecks(lambda _class, _slot: True), case.conflicts, case.commit
    )
    slow._first_failed_gang = lambda *_: None  # type: ignore[method-assign]
    slow._grant_all = lambda _plan: False  # type: ignore[method-assign]
    assert slow.judge(plan).granted.tolist() == quick.granted.tolist()
    assert (feed.cluster.ledger.used == other.cluster.ledger.used).all()
    assert (feed.cluster.topology.taken == other.cluster.topology.taken).all()


@given(cases)
def test_what_is_granted_fits_and_is_booked(case: Case) -> None:
    feed, _, _ = judged(case, quick=True)
    cluster = feed.cluster
    assert overcommitted(cluster) == []
    assert ledger_equals_rows(cluster) + devices_equal_rows(cluster) == []
    assert ports_equal_rows(cluster) + numa_nodes_equal_rows(cluster) == []


@given(cases)
def test_every_claim_is_granted_or_refused_and_units_stand_or_fall(case: Case) -> None:
    _, plan, reported = judged(case, quick=True)
    granted = set(reported.granted.tolist())
    refused = [row for _, rows, _ in reported.refused for row in rows]
    assert sorted([*plan.rows[sorted(granted)].tolist(), *refused]) == sorted(plan.rows.tolist())
    for unit in plan.units:
        count = len(granted & set(range(unit.start, unit.stop)))
        least = unit.stop - unit.start if case.commit is CommitMode.ALL_OR_NOTHING else 1
        assert count == 0 or count >= max(unit.at_least, least)
