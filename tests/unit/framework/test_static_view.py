"""A static rule reads nothing that claims change: the column and the rule are named."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar

import pytest

from stretto.base.registry import Registry
from stretto.framework.contract.rule import FilterRule, Scope, ScoreRule, View
from stretto.framework.contract.static_view import (
    CLAIMED,
    ClaimedColumnError,
    static_view,
    whole_view,
)
from stretto.framework.plugins.table import RULES
from stretto.framework.profile.profile import load_profile
from stretto.state.rows.snapshot import Columns
from stretto.testing import Harness, make_node, make_pod
from tests.support.hand_fed_cluster import ClusterFeed

READS = sorted(f"{place}.{name}" for place, names in CLAIMED.items() for name in names)


def view_of(feed: ClusterFeed) -> View:
    return View(Columns(feed.cluster.ledger), feed.cluster.nodes)


@pytest.mark.parametrize("column", [*READS, "look.counts"])
def test_every_column_that_claims_change_is_refused_by_name(column: str) -> None:
    view = static_view(view_of(ClusterFeed(make_node("n"))))
    with pytest.raises(ClaimedColumnError, match=f"reads {column}, which claims change"):
        attrgetter(column)(view)


def test_what_the_node_object_states_may_be_read() -> None:
    feed = ClusterFeed(make_node("n", cpu="4"))
    whole = view_of(feed)
    whole.columns.sync()
    view = static_view(whole)
    slot = feed.slot("n")
    assert view.columns.alloc[0, slot] == view.columns.ledger.alloc[slot, 0] == 4000
    assert view.nodes.names[slot] == "n"


def test_a_static_view_has_its_whole_view_behind_it() -> None:
    view = view_of(ClusterFeed(make_node("n")))
    static = static_view(view)
    assert (static_view(static) is static, whole_view(static)) == (True, view)
    assert whole_view(view) is view


def readings(cluster: Any) -> set[str]:
    """Names of the array columns of a snapshot and a ledger that a claim changes."""
    snapshot = Columns(cluster.ledger)
    snapshot.sync()
    owners = {
        "columns": snapshot,
        "columns.ledger": cluster.ledger,
        "columns.ledger.devices": cluster.ledger.devices,
    }
    return {
        f"{place}.{name} {value.tobytes()!r}"
        for place, owner in owners.items()
        for name, value in vars(owner).items()
        if hasattr(value, "tobytes") and not name.startswith("_")
    }


def test_a_claim_changes_no_column_that_a_static_rule_may_read() -> None:
    feed = ClusterFeed(make_node("n", cpu="8", gpus=2))
    before = readings(feed.cluster)
    feed.pod(make_pod("p", cpu="1", gpus=1, ports=[80], node="n"))
    changed = {each.split()[0] for each in readings(feed.cluster) - before}
    assert changed
    assert changed <= set(READS)


def own_rule(scope: Scope, *, scores: bool, read: Callable[[Any], Any]) -> type:
    base = ScoreRule if scores else FilterRule

    class Own(base):  # type: ignore[misc, valid-type]
        NAME: ClassVar[str] = "Own"
        SCOPE: ClassVar[Scope] = scope

        def filter(self, pod: Any, view: Any, slots: Any) -> Any:
            return read(view)[slots] >= 0

        def score(self, pod: Any, view: Any, slots: Any) -> Any:
            return read(view)[slots] * 0

    return Own


def harness_with(rule: Any, point: str) -> Harness:
    table = Registry("plugin", {**dict(RULES.items()), "Own": rule})
    profile = load_profile(
        {"profiles": [{"plugins": {point: {"enabled": [{"name": "Own"}]}}}]}, table
    )
    harness = Harness([make_node("n")], profile=profile, config={"tier": "numpy"})
    harness.submit(make_pod("p"))
    harness.settle()
    return harness


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize(
    ("column", "read"),
    [
        ("columns.free", lambda view: view.columns.free[0]),
        ("columns.ledger.used", lambda view: view.columns.ledger.used[:, 0]),
    ],
)
def test_a_static_rule_of_a_user_is_refused_with_a_message_that_names_rule_and_column(
    column: str, read: Callable[[Any], Any], scores: bool
) -> None:
    rule = own_rule(Scope.STATIC, scores=scores, read=read)
    harness = harness_with(rule, "score" if scores else "filter")
    (outside,) = harness.plane.config.profile.outside
    fault = f"rule {outside.health.name} {outside.health.last_fault}"
    assert fault.startswith(f"rule Own reads {column}, which claims change")
    assert "declare Scope.SLOT" in fault
    assert bool(harness.node_of("p")) is scores


@pytest.mark.parametrize("scores", [False, True])
def test_the_same_rule_is_sound_with_the_scope_slot(scores: bool) -> None:
    rule = own_rule(Scope.SLOT, scores=scores, read=lambda view: view.columns.free[0])
    harness = harness_with(rule, "score" if scores else "filter")
    assert (harness.plane.config.profile.outside[0].health.faults, harness.node_of("p")) == (0, "n")
