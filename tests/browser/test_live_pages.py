"""Live pages in a real Chromium: what an update keeps, what defers it, and the strict policy."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from stretto.testing import Harness, make_pod
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sources import PlaneSource
from tests.browser.browsing import until
from tests.browser.serving import TOKEN, served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
NUMBERS = count()
COUNT_REPORTS = """
window.reports = [];
addEventListener("securitypolicyviolation", (event) => reports.push(event.violatedDirective));
"""


@pytest.fixture
def pods(page: Any, address: str) -> Any:
    """The page of pods."""
    page.goto(f"{address}/pods")
    return page


def change(harness: Harness, source: PlaneSource) -> str:
    """Submit a pod whose name is the first of the table; its name."""
    name = f"aa-{1000 - next(NUMBERS)}"
    with source.lock:
        harness.submit(make_pod(name, cpu="10m"))
        harness.settle()
    return f"default/{name}"


def update(page: Any, harness: Harness, source: PlaneSource) -> None:
    """Change the state, and wait until the page shows it."""
    name = change(harness, source)
    until(lambda: name in page.inner_text("main table"))


def test_an_update_keeps_the_focus_on_the_same_row(
    pods: Any, harness: Harness, source: PlaneSource
) -> None:
    pods.focus("tr[id='pod/default/web-17'] th a")
    for _ in range(3):
        update(pods, harness, source)
    assert pods.evaluate("document.activeElement.textContent") == "default/web-17"


def test_an_update_keeps_typed_text_and_the_caret(
    pods: Any, harness: Harness, source: PlaneSource
) -> None:
    pods.fill("input[name=find]", "web-1")
    pods.keyboard.press("Home")
    update(pods, harness, source)
    pods.keyboard.type("x")
    assert pods.input_value("input[name=find]") == "xweb-1"


def test_an_update_keeps_the_position_of_a_wide_table(
    pods: Any, harness: Harness, source: PlaneSource
) -> None:
    pods.set_viewport_size({"width": 390, "height": 800})
    pods.evaluate("document.querySelector('.wide').scrollLeft = 60; scrollTo(0, 300)")
    update(pods, harness, source)
    assert pods.evaluate("[document.querySelector('.wide').scrollLeft, scrollY]") == [60, 300]


def test_an_update_waits_for_the_end_of_a_selection(
    pods: Any, harness: Harness, source: PlaneSource
) -> None:
    pods.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
    name = change(harness, source)
    pods.wait_for_timeout(1500)
    assert name not in pods.inner_text("main")
    pods.evaluate("getSelection().removeAllRanges()")
    until(lambda: name in pods.inner_text("main"))


def test_an_update_keeps_the_canvas_and_the_open_node(
    page: Any, harness: Harness, source: PlaneSource
) -> None:
    page.click("#grid", position={"x": 5, "y": 5})
    page.wait_for_selector("#panel h1")
    page.evaluate("document.getElementById('grid').mark = 'the same'")
    before = page.inner_text(".figures")
    change(harness, source)
    until(lambda: page.inner_text(".figures") != before)
    assert page.evaluate("document.getElementById('grid').mark") == "the same"
    assert page.inner_text("#panel h1").startswith("n0")


@contextmanager
def watched(browser: Any, address: str) -> Iterator[Any]:
    """A page that counts the reports of its policy."""
    page = browser.new_page()
    page.add_init_script(COUNT_REPORTS)
    page.goto(f"{address}/?token={TOKEN}")
    yield page
    page.close()


def test_the_policy_reports_nothing_about_live_pages(
    browser: Any, address: str, harness: Harness, source: PlaneSource
) -> None:
    with watched(browser, address) as page:
        page.goto(f"{address}/pods")
        update(page, harness, source)
        assert page.evaluate("htmx.version") == "4.0.1"
        assert page.evaluate("reports") == []


def test_the_policy_reports_nothing_about_plots(browser: Any, address: str) -> None:
    with watched(browser, address) as page:
        page.goto(f"{address}/studies/compare?run=20260101-000000-compare-trace")
        page.hover(".u-over")
        assert page.evaluate("reports") == []


def test_the_policy_reports_inline_code(browser: Any, address: str) -> None:
    with watched(browser, address) as page:
        page.evaluate("document.body.setAttribute('onclick', 'void 0'); document.body.click()")
        until(lambda: page.evaluate("reports"))


def test_an_answer_that_does_not_come_is_named(browser: Any, harness: Harness) -> None:
    source, page = PlaneSource("a small cluster", harness.plane), browser.new_page()
    with served(source, DashboardParts()) as address:
        page.goto(f"{address}/?token={TOKEN}")
        page.goto(f"{address}/pods/default/dream")
    page.fill("input[name=node]", "n001")
    page.click("text=Ask")
    until(lambda: "does not answer" in page.inner_text("[data-answer]"))
    page.close()
