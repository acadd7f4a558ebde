"""Plots of the studies in a real Chromium: values by mouse and keyboard, axe, colours."""

from typing import Any

import pytest

from tests.browser.browsing import until
from tests.browser.conftest import STUDY

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
PATH = "/studies/compare?run=20260101-000000-compare-trace"


@pytest.fixture
def plot(page: Any, address: str) -> Any:
    """A page with a drawn plot."""
    page.goto(address + PATH)
    page.wait_for_selector("[data-plot] .u-legend")
    return page


def legend(page: Any, number: int = 0) -> str:
    rows = page.locator(f"[data-plot='{number}'] .u-legend tr:visible").all()
    return " ".join(" ".join(row.locator("th, td").all_inner_texts()) for row in rows)


def test_the_values_under_the_mouse_are_shown(plot: Any) -> None:
    box = plot.query_selector("[data-plot='0'] .u-over").bounding_box()
    plot.hover("[data-plot='0'] .u-over", position={"x": box["width"] / 4 + 2, "y": 20})
    until(lambda: "60" in legend(plot))
    assert legend(plot) == "hours 1 fifo 60 easy 10"


def test_arrow_keys_show_the_values(plot: Any) -> None:
    plot.focus("[data-plot='0']")
    for key in ("End", "ArrowLeft", "ArrowLeft"):
        plot.keyboard.press(key)
    until(lambda: "82.5" in legend(plot))
    assert legend(plot) == "hours 1.5 fifo 60 easy 82.5"


def test_stacked_areas_show_the_value_of_each(plot: Any) -> None:
    plot.focus("[data-plot='1']")
    plot.keyboard.press("End")
    until(lambda: legend(plot, 1) == "hours 1 online 20 batch 70")


def test_a_band_is_no_curve_of_its_own(plot: Any) -> None:
    plot.focus("[data-plot='2']")
    plot.keyboard.press("End")
    until(lambda: legend(plot, 2) == "arrived 1 fgd 90")


def test_the_keyboard_hides_a_curve(plot: Any) -> None:
    plot.focus("[data-plot='0'] .u-legend tr:nth-child(2) th")
    plot.keyboard.press("Enter")
    assert plot.locator(".u-legend tr.u-off").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_drawn_plot(plot: Any, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="make test-browser")
    plot.emulate_media(color_scheme=scheme)
    plot.click("summary >> nth=0")
    findings = axe.Axe().run(plot).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:80]) for each in findings] == []


def test_a_plot_follows_the_colour_scheme(plot: Any) -> None:
    plot.emulate_media(color_scheme="light")
    light = plot.locator("[data-plot='0'] canvas").screenshot()
    plot.emulate_media(color_scheme="dark")
    until(lambda: plot.locator("[data-plot='0'] canvas").screenshot() != light)


def test_a_plot_is_not_wider_than_a_phone(plot: Any) -> None:
    plot.set_viewport_size({"width": 390, "height": 800})
    until(lambda: plot.evaluate("document.documentElement.scrollWidth") <= 390)


def test_the_values_are_readable_without_scripts(browser: Any, page: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.add_cookies(page.context.cookies())
    plain = context.new_page()
    plain.goto(address + PATH)
    plain.click("summary >> nth=0")
    assert "82.50" in plain.inner_text("details >> nth=0")
    context.close()


def test_the_title_of_a_plot_is_its_finding(plot: Any) -> None:
    assert plot.inner_text("#plot-0") == STUDY.plots[0].texts.title
