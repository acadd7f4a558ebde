"""Actions of the dashboard: what each would do, and its own rights."""

from typing import Any

import msgspec
import pytest

from stretto.api.wire.kinds import POD_DISRUPTION_BUDGET
from stretto.testing import Harness, make_node, make_pod
from stretto.web.dashboard.app import dashboard_app
from stretto.web.views.acting.consequences import drain_warnings
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sources import PlaneSource
from tests.unit.web.dashboards import get, post
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
    source = PlaneSource("a small cluster", harness.plane)
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


def test_a_preview_of_a_cordon_states_what_stays() -> None:
    page = preview("/actions/cordon?subject=n1")
    assert "1 pod on it stays; nothing is evicted." in page


def test_a_drain_names_the_budgets_that_limit_it() -> None:
    harness = Harness(nodes=[make_node("n1", cpu="4")])
    harness.put(POD_DISRUPTION_BUDGET, budget(0))
    harness.submit(make_pod("web", cpu="2", labels={"app": "web"}, owner=OWNER))
    harness.settle()
    with PlaneSource("a small cluster", harness.plane).open() as state:
        (warning,) = drain_warnings(state, "n1")
    assert warning == "PodDisruptionBudget default/web covers 1 pod here and allows 0 now."


def test_a_preview_does_nothing() -> None:
    actions = RecordedActions()
    assert get(acting_dashboard(actions), "/actions/cordon?subject=n1").status_code == 200
    assert actions.done == []


@pytest.mark.parametrize("path", ["/actions/evict?subject=default/x", "/actions/cordon?subject=x"])
def test_a_preview_of_an_unknown_object_is_not_found(path: str) -> None:
    assert get(acting_dashboard(RecordedActions()), path).status_code == 404


@pytest.mark.parametrize("path", ["/nodes/n1", "/actions/cordon?subject=n1"])
def test_an_action_without_its_right_has_no_button(path: str) -> None:
    page = get(acting_dashboard(RecordedActions("ada may not")), path).text
    assert "ada may not: cordon n1" in page
    assert " disabled>Close n" in page.replace("Close for n", "Close n")


def test_a_plan_offers_to_submit_its_objects() -> None:
    page = post(acting_dashboard(RecordedActions()), "/plan", {"objects": "Pod default/x"}).text
    assert "1 of 1 pod would be placed." in page
    assert "<button>Submit 1 object</button>" in page


def test_a_plan_of_objects_that_the_user_may_not_create_cannot_be_submitted() -> None:
    app = acting_dashboard(RecordedActions("ada may not"))
    page = post(app, "/plan", {"objects": "Pod default/x"}).text
    assert "<button disabled>Submit 1 object</button>" in page


def test_a_submission_shows_what_was_created() -> None:
    actions = RecordedActions()
    page = post(acting_dashboard(actions), "/actions/submit", {"objects": "Pod default/x"}).text
    assert "1 of 1 object created." in page
    assert actions.done == [("submit", "Pod default/x")]
