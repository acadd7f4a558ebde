"""The pages of these tests: a small cluster with a study, in a real Chromium.

``make test-browser`` installs what these tests need; without it they are skipped.
"""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.cli.sources.run_studies import RunStudies
from stretto.control.controllers.fragmentation import FreeCapacity
from stretto.control.controllers.move_plan import DefragPlan
from stretto.explain.records.curves import CurvePlot, PlotLine, PlotMark, PlotTexts
from stretto.explain.records.records import RunRecords
from stretto.explain.records.results import KeptResult, ResultRecords
from stretto.state.work.rescheduling import ReschedulingGoal
from stretto.testing import Harness, make_node, make_pod
from stretto.web.api.internal import ApiClient
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.local.administrator import local_actions
from stretto.web.views.offers import read_board
from stretto.web.views.parts import DashboardParts, PlannedPod, PlanPreview
from stretto.web.views.sources import PlaneSource
from tests.browser.browsing import LONGEST_S
from tests.browser.serving import TOKEN, served
from tests.unit.web.test_pools import CLUSTERS, DOCUMENT

NODES = 400
NO_MOVES = DefragPlan(
    ReschedulingGoal.NODES, (), FreeCapacity(0, 0, 0, 0.0, 0.0), FreeCapacity(0, 0, 0, 0.0, 0.0)
)
STUDY = KeptResult(
    "compare jobs.swf",
    "2026-01-01T00:00:00Z",
    {"schema": "stretto.compare.trace/v1", "sides": [{"side": "fifo"}, {"side": "easy"}]},
    (
        CurvePlot(
            "usage",
            (
                PlotLine("fifo", [0.0, 1.0, 2.0, 4.0], [10.0, 60.0, 30.0, 20.0], steps=True),
                PlotLine("easy", [0.0, 1.5, 4.0], [10.0, 82.5, 40.0], 1, steps=True),
            ),
            PlotTexts(
                "Peak use: fifo 60 %, easy 82 %",
                "hours",
                "in use, % of all",
                from_0=True,
                moments=(PlotMark(1.0, "drain rack=r7"),),
            ),
        ),
        CurvePlot(
            "queues",
            (
                PlotLine("online", [0.0, 1.0], [10.0, 20.0]),
                PlotLine("batch", [0.0, 1.0], [60.0, 70.0], 1),
            ),
            PlotTexts("Batch fills what services leave", "hours", "% of all"),
            stacked=True,
        ),
        CurvePlot(
            "allocation",
            (PlotLine("fgd", [0.0, 1.0], [80.0, 90.0], band=[1.0, 2.0]),),
            PlotTexts("fgd allocates most", "arrived", "allocated"),
        ),
    ),
)
"""A comparison: curves with points at different times, stacked areas, and a band."""


@pytest.fixture(scope="module")
def harness() -> Harness:
    """Nodes in two zones, placed pods and one that is too large."""
    nodes = [make_node(f"n{i:03}", cpu="8", zone=f"z{i % 2}") for i in range(NODES)]
    harness = Harness(nodes=nodes)
    harness.submit(*(make_pod(f"web-{i}", cpu="3") for i in range(200)))
    harness.submit(make_pod("dream", cpu="64"))
    harness.settle()
    return harness


@pytest.fixture(scope="module")
def source(harness: Harness) -> PlaneSource:
    return PlaneSource("a small cluster", harness.plane)


@pytest.fixture(scope="module")
def address(
    harness: Harness, source: PlaneSource, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    preview = PlanPreview("1 of 1 pod would be placed.", [PlannedPod("default/x", "n001")])
    folder = tmp_path_factory.mktemp("state")
    server = ApiServer(harness.store, ApiSettings(WallClock(), Rng(2)))
    results = ResultRecords(folder / "results")
    results.keep(STUDY)
    studies = RunStudies(RunRecords(folder / "runs"), results)
    parts = DashboardParts(
        studies,
        lambda _: preview,
        lambda goal, budget: NO_MOVES,
        offers=lambda: read_board(DOCUMENT),
        clusters=lambda: CLUSTERS,
        start=lambda pod: f"{pod} is expected to start in 5 s.",
        drain=lambda _: preview,
        actions=local_actions(ApiClient(server.state, "tests")),
    )
    with served(source, parts) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A running Chromium; the test is skipped without Playwright or Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="make test-browser")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page of a session; errors on its console fail the test."""
    opened = browser.new_page(viewport={"width": 1200, "height": 800})
    opened.set_default_timeout(1000 * LONGEST_S)
    problems: list[str] = []
    opened.on("console", lambda each: problems.append(each.text) if each.type == "error" else None)
    opened.on("pageerror", lambda each: problems.append(str(each)))
    opened.goto(f"{address}/?token={TOKEN}")
    yield opened
    opened.close()
    assert problems == []
