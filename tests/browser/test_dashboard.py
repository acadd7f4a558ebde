"""The dashboard in a real Chromium: every page, live frames, the keyboard, axe and the policy.

``make test-browser`` installs what these tests need; without it they are skipped.
"""

from pathlib import Path
from typing import Any

import pytest

from stretto.testing import Harness, make_node, make_pod
from stretto.web.dashboard.app import dashboard_app
from stretto.web.dashboard.guard import Access
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sources import FOLLOWED, PlaneSource
from tests.browser.browsing import LONGEST_S, frames, until
from tests.browser.serving import ACCESS, TOKEN, served, served_app
from tests.unit.web.local.joined_site import JoinedSite

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

PAGES = (
    "/",
    "/nodes",
    "/pods",
    "/queues",
    "/units",
    "/shards",
    "/decisions",
    "/plan",
    "/studies",
    "/studies/compare?run=20260101-000000-compare-trace",
    "/defragment",
    "/offers",
    "/clusters",
    "/nodes/n001",
    "/nodes/n001/drain",
    "/pods/default/dream",
    "/pods/default/web-0",
    "/actions/evict?subject=default/web-0",
    "/actions/cordon?subject=n001",
    "/?pod=default/dream",
)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Any, address: str, path: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="make test-browser")
    page.emulate_media(color_scheme=scheme)
    page.goto(address + path)
    findings = axe.Axe().run(page).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:80]) for each in findings] == []


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_wider_than_a_phone(page: Any, address: str, path: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(address + path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_no_page_loads_from_another_server(browser: Any, address: str) -> None:
    opened, requested = browser.new_page(), []
    opened.set_default_timeout(1000 * LONGEST_S)
    opened.on("request", lambda request: requested.append(request.url))
    opened.goto(f"{address}/?token={TOKEN}")
    for path in PAGES[1:]:
        opened.goto(address + path)
    opened.close()
    assert [url for url in requested if not url.startswith(address)] == []


def test_the_grid_shows_a_new_pod(page: Any, harness: Harness, source: PlaneSource) -> None:
    until(lambda: frames(page))
    before = frames(page)
    with source.lock:
        harness.submit(make_pod("later", cpu="3"))
        harness.settle()
    until(lambda: frames(page) > before)


def test_a_page_follows_the_state(page: Any, harness: Harness, source: PlaneSource) -> None:
    until(lambda: frames(page))
    with source.lock:
        harness.submit(make_pod("fresh", cpu="3"))
        harness.settle()
    placed = sum(map(bool, harness.placements().values()))
    until(lambda: f"{placed} pods placed" in page.inner_text(".figures"))


def test_a_page_reconnects_to_a_server_that_starts_again(browser: Any, harness: Harness) -> None:
    source, parts = PlaneSource("a small cluster", harness.plane, FOLLOWED), DashboardParts()
    page = browser.new_page()
    with served(source, parts) as address:
        page.goto(f"{address}/?token={TOKEN}")
        until(lambda: page.inner_text("#live") == "live" and frames(page))
    until(lambda: page.inner_text("#live") == "reconnecting")
    seen = frames(page)
    with served(source, parts, int(address.rpartition(":")[2])):
        until(lambda: page.inner_text("#live") == "live" and frames(page) > seen)
    page.close()


def test_a_page_names_a_session_that_has_ended(browser: Any, harness: Harness) -> None:
    source, parts = PlaneSource("a small cluster", harness.plane, FOLLOWED), DashboardParts()
    page = browser.new_page()
    with served(source, parts) as address:
        page.goto(f"{address}/queues?token={TOKEN}")
        page.goto(f"{address}/queues")
    other = dashboard_app(source, parts, Access(token="another-token"))
    with served_app(other, int(address.rpartition(":")[2])):
        until(lambda: "the session token" in page.inner_text("#notice"))
    page.close()


def test_a_page_whose_pod_has_vanished_names_it(
    browser: Any, address: str, harness: Harness, source: PlaneSource
) -> None:
    with source.lock:
        harness.submit(make_pod("short", cpu="1"))
        harness.settle()
    page = browser.new_page()
    page.goto(f"{address}/?token={TOKEN}")
    page.goto(f"{address}/pods/default/short")
    with source.lock:
        harness.delete("short")
        harness.settle()
    until(lambda: "default/short was not found" in page.inner_text("#notice"))
    page.close()


def test_the_page_of_a_pending_pod_follows_its_placement(
    page: Any, address: str, harness: Harness, source: PlaneSource
) -> None:
    with source.lock:
        harness.submit(make_pod("wide", cpu="12"))
        harness.settle()
    page.goto(f"{address}/pods/default/wide")
    with source.lock:
        harness.create_nodes(make_node("wide-node", cpu="16", zone="z9"))
        harness.settle()
    until(lambda: "on wide-node" in page.inner_text(".figures"))


def test_a_refreshed_page_keeps_the_focus(
    page: Any, address: str, harness: Harness, source: PlaneSource
) -> None:
    page.goto(f"{address}/pods")
    page.focus("td a[href$='/nodes/n003']")
    with source.lock:
        harness.submit(make_pod("aaa", cpu="3"))
        harness.settle()
    until(lambda: "default/aaa" in page.inner_text("main"))
    assert page.evaluate("document.activeElement.textContent") == "n003"


def test_a_paused_page_stays_as_it_is(
    page: Any, address: str, harness: Harness, source: PlaneSource
) -> None:
    page.goto(f"{address}/pods")
    page.click("[data-pause]")
    with source.lock:
        harness.submit(make_pod("aab", cpu="3"))
        harness.settle()
    page.wait_for_timeout(2000)
    assert "default/aab" not in page.inner_text("main")
    page.click("[data-pause]")
    until(lambda: "default/aab" in page.inner_text("main"))


def test_the_keyboard_opens_a_node(page: Any) -> None:
    until(lambda: frames(page))
    page.focus("#grid")
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#panel h1")
    assert page.inner_text("#cell").startswith(page.inner_text("#panel h1"))


def test_arrow_keys_follow_the_groups_that_are_shown(page: Any) -> None:
    until(lambda: frames(page))
    page.select_option("#grouping", "zone")
    page.focus("#grid")
    for key in ("Home", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    first, below = "n002", page.inner_text("#cell").partition(":")[0]
    assert int(below[1:]) % 2 == 0
    assert below > first


def test_a_link_opens_a_node_with_its_colour_and_group(page: Any, address: str) -> None:
    page.goto(f"{address}/?node=n007&column=memory&grouping=zone")
    page.wait_for_selector("#panel h1")
    assert page.inner_text("#panel h1") == "n007"
    assert page.inner_text("#cell").endswith(" % of memory")
    assert page.input_value("#grouping") == "zone"


def test_a_chosen_colour_is_in_the_address(page: Any) -> None:
    until(lambda: frames(page))
    page.select_option("#column", "memory")
    assert "column=memory" in page.url


def test_a_node_under_the_mouse_is_named(page: Any) -> None:
    until(lambda: frames(page))
    page.hover("#grid", position={"x": 5, "y": 5})
    assert page.inner_text("#tip").startswith("n0")


def test_a_click_opens_a_node(page: Any) -> None:
    until(lambda: frames(page))
    page.click("#grid", position={"x": 5, "y": 5})
    assert page.wait_for_selector("#panel h1").inner_text().startswith("n0")


def test_a_pod_is_requested_about_a_node(page: Any, address: str) -> None:
    page.goto(f"{address}/pods/default/dream")
    page.fill("input[name=node]", "n001")
    page.click("text=Ask")
    page.wait_for_selector("section[aria-labelledby=ask] [data-answer] li")
    assert "cores short" in page.inner_text("section[aria-labelledby=ask]")


def test_a_click_on_the_grid_explains_a_chosen_pod(page: Any, address: str) -> None:
    page.goto(f"{address}/?pod=default/dream")
    until(lambda: frames(page))
    page.click("#grid", position={"x": 5, "y": 5})
    page.wait_for_selector("#panel .dominant")
    assert "default/dream does not fit on n0" in page.inner_text("#panel")


def test_the_start_of_a_pod_is_estimated_on_request(page: Any, address: str) -> None:
    page.goto(f"{address}/pods/default/dream")
    page.click("text=Estimate its start")
    until(lambda: "expected to start in 5 s" in page.inner_text("main"))


def test_a_node_is_closed_by_the_keyboard_after_a_preview(page: Any, address: str) -> None:
    page.goto(f"{address}/nodes/n399")
    page.focus("text=Close for new pods (cordon)")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=nothing is evicted")
    page.focus("main button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/nodes/n399")


def test_zooming_by_buttons_and_back(page: Any) -> None:
    until(lambda: frames(page))
    page.click("#zoom-in")
    assert page.evaluate("document.getElementById('grid').style.touchAction") == "none"
    page.click("#zoom-all")
    assert page.evaluate("document.getElementById('grid').style.touchAction") == "pan-y"


def test_a_plan_is_shown_before_anything_is_written(page: Any, address: str) -> None:
    page.goto(f"{address}/plan")
    spec = "spec: {containers: [{name: c, image: i}]}"
    page.fill("textarea", f"{{apiVersion: v1, kind: Pod, metadata: {{name: x}}, {spec}}}")
    page.click("button")
    assert "1 of 1 pod would be placed." in page.inner_text("main")


def test_a_plan_shows_refused_objects(page: Any, address: str) -> None:
    page.goto(f"{address}/plan")
    page.fill("textarea", "{apiVersion: v1, kind: ConfigMap, metadata: {name: X}}")
    page.click("button")
    text = page.inner_text("main")
    assert "The cluster would refuse 1 of 1 object." in text
    assert 'ConfigMap default/X: ConfigMap "X" is invalid' in text
    assert page.is_disabled("text=Submit 1 object")


def test_a_planned_object_is_submitted_by_a_second_click(page: Any, address: str) -> None:
    page.goto(f"{address}/plan")
    page.fill("textarea", "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}")
    page.click("button")
    page.click("text=Submit 1 object")
    assert "1 of 1 object created." in page.inner_text("main")


@pytest.mark.parametrize(("user", "enabled"), [("token", True), ("ada", False)])
def test_buttons_over_a_joined_cluster_follow_the_rights_of_its_user(
    browser: Any, tmp_path: Path, user: str, enabled: bool
) -> None:
    site = JoinedSite(tmp_path)
    site.grant_reading()
    with site.dashboard(user, ACCESS) as app, served_app(app) as address:
        page = browser.new_page()
        page.goto(f"{address}/?token={TOKEN}")
        page.goto(f"{address}/nodes/n1")
        assert page.locator("main a[href*='/actions/']").count() == (1 if enabled else 0)
        assert page.locator("main button[disabled]").count() == (0 if enabled else 1)
    site.cluster.close()


def test_twenty_thousand_nodes_are_drawn_live(browser: Any) -> None:
    nodes = [make_node(f"n{i:05}", cpu="8", zone=f"z{i % 3}") for i in range(20_000)]
    harness = Harness(nodes=nodes)
    with served(PlaneSource("a large cluster", harness.plane), DashboardParts()) as address:
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        page.set_default_timeout(1000 * LONGEST_S)
        page.goto(f"{address}/?token={TOKEN}")
        until(lambda: frames(page))
        seen = frames(page)
        harness.submit(make_pod("late", cpu="1"))
        harness.settle()
        until(lambda: frames(page) > seen)
        page.close()


def test_a_page_of_a_pool_is_read_again_by_itself(page: Any, address: str) -> None:
    page.goto(f"{address}/clusters")
    page.evaluate("document.querySelector('main tbody').remove()")
    until(lambda: page.query_selector("main tbody"))
