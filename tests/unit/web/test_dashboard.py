"""The pages of the dashboard, as a browser without scripts sees them."""

import csv
import io

import pytest

from stretto.base.errors import InputError
from stretto.control.controllers.fragmentation import FreeCapacity, Move
from stretto.control.controllers.move_plan import DefragPlan
from stretto.state.work.rescheduling import ReschedulingGoal
from stretto.web.views.parts import DashboardParts, PlannedPod, PlanPreview
from tests.unit.web.dashboards import get, post, small_dashboard


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/", "2 nodes"),
        ("/nodes", 'href="/nodes/n1"'),
        ("/nodes?find=zone=a", "1 node"),
        ("/nodes/n1", "zone a"),
        ("/pods", "even empty"),
        ("/pods?status=bound", "default/web"),
        ("/pods/default/web", 'on <a href="/nodes/'),
        ("/queues", "default"),
        ("/units", "Every pod is a unit of its own"),
        ("/shards", "Table of shards"),
        ("/decisions", "placed"),
    ],
)
def test_a_page_shows_the_state(path: str, text: str) -> None:
    page = get(small_dashboard(), path)
    assert page.status_code == 200
    assert text in page.text


@pytest.mark.parametrize(
    ("query", "count"), [("find=web", 1), ("find=n1&minutes=10", 0), ("minutes=10", 1)]
)
def test_decisions_are_filtered_by_text_and_time(query: str, count: int) -> None:
    page = get(small_dashboard(), f"/decisions?{query}").text
    assert page.count('class="n time"') == count


def test_decisions_are_counted_by_kind() -> None:
    assert "<strong>1</strong> placed" in get(small_dashboard(), "/decisions").text


def test_queues_have_no_share_if_no_policy_counts_usage() -> None:
    page = get(small_dashboard(), "/queues").text
    assert "1 unit pending" in page
    assert "running" not in page
    assert "share" not in page


def test_a_pending_pod_has_its_reason_its_nodes_and_a_cure() -> None:
    page = get(small_dashboard(), "/pods/default/dream").text
    assert "None of the 2 eligible nodes is large enough, even empty" in page
    assert "0/2 nodes are available: 2 Insufficient cpu" in page
    assert "Requesting" in page


def test_explain_reports_about_one_node() -> None:
    answer = get(small_dashboard(), "/pods/default/dream/on?node=n1&part=1").text
    assert "cores short" in answer
    assert "<html" not in answer


def test_a_pending_pod_has_an_estimate_of_its_start() -> None:
    app = small_dashboard(DashboardParts(start=lambda pod: f"{pod} starts in 5 s."))
    assert 'action="/pods/default/dream/start"' in get(app, "/pods/default/dream").text
    answer = get(app, "/pods/default/dream/start?part=1").text
    assert "default/dream starts in 5 s." in answer


def test_a_placed_pod_has_the_scores_of_its_node() -> None:
    page = get(small_dashboard(), "/pods/default/web").text
    assert "Why this node" in page
    assert "chosen</span>" in page


def test_the_grid_marks_a_selected_pod() -> None:
    page = get(small_dashboard(), "/?pod=default/dream").text
    assert 'data-pod="default/dream"' in page


def test_the_part_of_a_page_has_no_frame() -> None:
    assert "<nav" not in get(small_dashboard(), "/pods?part=1").text


@pytest.mark.parametrize(
    ("path", "title"),
    [("/nodes", "Nodes"), ("/nodes/n1", "Nodes"), ("/pods/default/web", "Pods")],
)
def test_a_page_below_a_page_marks_it_in_the_navigation(path: str, title: str) -> None:
    page = get(small_dashboard(), path).text
    assert page.count("aria-current") == 1
    assert f'aria-current="true">{title}</a>' in page


@pytest.mark.parametrize("path", ["/nodes/n9", "/pods/default/unknown", "/nothing"])
def test_an_unknown_object_is_not_found(path: str) -> None:
    page = get(small_dashboard(), path)
    assert page.status_code == 404
    assert "Not found" in page.text


def test_names_cannot_inject_markup() -> None:
    page = get(small_dashboard(), "/pods?find=%3Cscript%3Ealert(1)%3C/script%3E").text
    assert "<script>alert" not in page


def test_pods_are_downloaded_as_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(get(small_dashboard(), "/export/pods.csv").text)))
    assert {row["name"]: row["status"] for row in rows}["web"] == "bound"


def test_pods_are_downloaded_as_json() -> None:
    names = [row["name"] for row in get(small_dashboard(), "/export/pods.json").json()]
    assert sorted(names) == ["dream", "web"]


@pytest.mark.parametrize(
    ("table", "cells"),
    [
        ("nodes", {"name": "n1", "zone": "a"}),
        ("queues", {"name": "default", "pending": "1"}),
        ("shards", {"shard": "0", "placed": "1"}),
        ("decisions", {"pod": "default/web", "step": "placed"}),
    ],
)
def test_a_table_is_downloaded(table: str, cells: dict[str, str]) -> None:
    text = get(small_dashboard(), f"/export/{table}.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert any(cells.items() <= row.items() for row in rows), text


def test_units_are_downloaded_although_there_are_none() -> None:
    assert get(small_dashboard(), "/export/units.json").json() == []


def test_a_plan_shows_where_pods_would_go() -> None:
    preview = PlanPreview("1 of 1 pod would be placed.", [PlannedPod("default/x", "n2")])
    app = small_dashboard(DashboardParts(plan=lambda _: preview))
    page = post(app, "/plan", {"objects": "kind: Pod"}).text
    assert "1 of 1 pod would be placed." in page
    assert "kind: Pod</textarea>" in page


def test_the_drain_of_a_node_is_planned_before_anything_is_evicted() -> None:
    preview = PlanPreview("0 of 1 pod would be placed.", [PlannedPod("default/web", "", "full")])
    app = small_dashboard(DashboardParts(drain=lambda _: preview))
    assert 'href="/nodes/n2/drain"' in get(app, "/nodes/n2").text
    page = get(app, "/nodes/n2/drain").text
    assert "0 of 1 pod would be placed." in page
    assert "1 pod without a controller" in page


def test_the_drain_of_an_unknown_node_is_not_found() -> None:
    app = small_dashboard(DashboardParts(drain=lambda _: PlanPreview("", [])))
    assert get(app, "/nodes/n9/drain").status_code == 404


def test_the_page_of_a_node_has_the_requests_of_its_pods() -> None:
    page = get(small_dashboard(), "/nodes/n2").text
    assert "2 cores" in page


def test_a_plan_of_bad_text_states_what_is_wrong() -> None:
    def refuse(text: str) -> PlanPreview:
        raise InputError("objects", text, "Kubernetes objects")

    app = small_dashboard(DashboardParts(plan=refuse))
    assert "expected Kubernetes objects" in post(app, "/plan", {"objects": "?"}).text


def test_a_form_that_is_too_large_is_refused() -> None:
    app = small_dashboard(DashboardParts(plan=lambda _: PlanPreview("", [])))
    assert post(app, "/plan", {"objects": "x" * (1 << 20)}).status_code == 413


def test_pages_without_their_part_do_not_exist() -> None:
    app = small_dashboard()
    assert get(app, "/plan").status_code == 404
    assert 'href="/plan"' not in get(app, "/").text


def moves(goal: ReschedulingGoal, budget: int) -> DefragPlan:
    """One move that frees a node."""
    before, after = FreeCapacity(0, 0, 0, 50.0, 10.0), FreeCapacity(1, 0, 0, 100.0, 20.0)
    move = Move(0, 0, "default/web", "ReplicaSet/default/web", "n1", "n2")
    return DefragPlan(goal, (move,) * min(budget, 1), before, after)


def test_moves_that_free_nodes_are_shown_before_anything_is_evicted() -> None:
    app = small_dashboard(DashboardParts(defragment=moves))
    page = post(app, "/defragment", {"goal": "nodes", "budget": "5"}).text
    assert "1 move would help." in page
    assert '<th scope="row">empty nodes</th><td class="n">0</td><td class="n">1</td>' in page


@pytest.mark.parametrize(("goal", "budget"), [("cats", "5"), ("nodes", "0"), ("nodes", "-1")])
def test_a_plan_of_moves_names_what_is_wrong(goal: str, budget: str) -> None:
    app = small_dashboard(DashboardParts(defragment=moves))
    page = post(app, "/defragment", {"goal": goal, "budget": budget}).text
    assert 'role="alert"' in page
