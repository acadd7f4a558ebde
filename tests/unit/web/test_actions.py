"""Actions of the dashboard: what each would do, and its own rights."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import POD_DISRUPTION_BUDGET
from stretto.testing import Harness, make_node, make_pod
from stretto.web.dashboard.app import dashboard_app
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sight import Capability
from stretto.web.views.sources import PlaneSource
from tests.unit.web.dashboards import get
from tests.unit.web.recorded_actions import RecordedActions, acting_dashboard

OWNER = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web",
    "uid": "u1",
    "controller": True,
}


def budget(allowed: int) -> bytes:
    """A budget of the pods with the label app=web."""
    body: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.json.encode(body)


def preview(path: str, *budgets: bytes, **pod: Any) -> str:
    """The page before an action on a pod or its node."""
    harness = Harness(nodes=[make_node("n1", cpu="4")])
    harness.put(POD_DISRUPTION_BUDGET, *budgets)
    harness.submit(make_pod("web", cpu="2", labels={"app": "web"}, **pod))
    harness.settle()
    source = PlaneSource("a small cluster", harness.plane, Capability(writes=True))
    return get(dashboard_app(source, DashboardParts(actions=RecordedActions())), path).text


EVICT = "/actions/evict?subject=default/web"


def test_a_preview_of_an_eviction_shows_what_becomes_free() -> None:
    page = preview(EVICT)
    assert "It ends on n1, which then has 2 cores, 128 MiB more free." in page
    assert "nothing creates it again" in page
    assert "The action is that of a test." in page


def test_a_preview_of_an_eviction_names_the_controller() -> None:
    assert "ReplicaSet web, creates another pod" in preview(EVICT, owner=OWNER)


@pytest.mark.parametrize(
    ("allowed", "text"),
    [(2, "allows 2 further disruptions."), (0, "default/web allows no disruption now.")],
)
def test_a_preview_of_an_eviction_names_the_budget(allowed: int, text: str) -> None:
    assert text in preview(EVICT, budget(allowed))


def test_a_preview_of_a_cordon_says_what_stays() -> None:
    page = preview("/actions/cordon?subject=n1")
    assert "1 pod on it stays; nothing is evicted." in page


def test_a_preview_does_nothing() -> None:
    actions = RecordedActions()
    assert get(acting_dashboard(actions), "/actions/cordon?subject=n1").status_code == 200
    assert actions.done == []


@pytest.mark.parametrize("path", ["/actions/evict?subject=default/x", "/actions/cordon?subject=x"])
def test_a_preview_of_an_unknown_object_is_not_found(path: str) -> None:
    assert get(acting_dashboard(RecordedActions()), path).status_code == 404
