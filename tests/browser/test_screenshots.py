"""The pictures of the documents, made from the pages themselves.

``SCREENSHOTS=docs/images make test-browser`` replaces them; otherwise they go to a folder of the
test.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stretto.cli.sources.run_studies import RunStudies
from stretto.explain.records.records import RunRecords
from stretto.explain.records.results import KeptResult, ResultRecords
from stretto.testing import Harness, make_node, make_pod
from stretto.web.views.parts import DashboardParts
from stretto.web.views.sources import PlaneSource
from stretto_lab.studies.one_pool.report import OnePoolResult, one_pool_plots
from tests.browser.browsing import LONGEST_S, frames, until
from tests.browser.serving import TOKEN, served
from tests.test_structure import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
PNG = b"\x89PNG"
SIZE = {"width": 1100, "height": 740}
ZONES = 3
KINDS = (("web", "64", 0), ("gpu", "32", 8), ("db", "16", 0))


def node(number: int) -> bytes:
    """One of three kinds of nodes, in racks and zones; two are cordoned."""
    name, cpu, gpus = KINDS[number // 4 % len(KINDS)]
    return make_node(
        f"{name}-{number:03}",
        cpu=cpu,
        gpus=gpus,
        memory="256Gi",
        zone=f"zone-{'abc'[number % ZONES]}",
        labels={"rack": f"r{number // 40}"},
        unschedulable=number in (10, 71),
    )


def one_pool() -> KeptResult:
    """The recorded day of ``study one-pool``."""
    (path, *_) = sorted((ROOT / "bench" / "results").glob("one-pool-[0-9a-f]*.json"))
    document = json.loads(path.read_text())
    plots = one_pool_plots(msgspec.convert(document, OnePoolResult))
    schema = {"schema": "stretto.study.one-pool/v1"}
    return KeptResult("study one-pool", "2026-01-01T00:00:00Z", schema, tuple(plots))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    harness = Harness(nodes=[node(number) for number in range(240)])
    harness.submit(*(make_pod(f"web-{i}", cpu="3", memory="6Gi") for i in range(400)))
    harness.submit(*(make_pod(f"train-{i}", cpu="2", gpus=4) for i in range(120)))
    harness.submit(*(make_pod(f"db-{i}", cpu="8", memory="120Gi") for i in range(60)))
    harness.submit(make_pod("huge", cpu="48", gpus=8), make_pod("lost", cpu="96"))
    harness.settle()
    state = tmp_path_factory.mktemp("state")
    results = ResultRecords(state / "results")
    results.keep(one_pool())
    parts = DashboardParts(RunStudies(RunRecords(state / "runs"), results))
    with served(PlaneSource("example cluster", harness.plane), parts) as address:
        yield address


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    opened = browser.new_page(viewport=SIZE)
    opened.set_default_timeout(1000 * LONGEST_S)
    opened.goto(f"{address}/?token={TOKEN}")
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(os.environ.get("SCREENSHOTS") or tmp_path)


def shot(page: Any, path: Path) -> bytes:
    page.screenshot(path=path)
    return path.read_bytes()


def test_the_nodes_with_one_open_beside_the_grid(page: Any, folder: Path) -> None:
    until(lambda: frames(page))
    page.select_option("#grouping", "zone")
    page.click("#grid", position={"x": 60, "y": 40})
    page.wait_for_selector("#panel h1")
    assert shot(page, folder / "dashboard-nodes.png").startswith(PNG)


def test_a_pending_pod_with_its_reasons(page: Any, address: str, folder: Path) -> None:
    page.goto(f"{address}/pods/default/huge")
    page.wait_for_selector(".dominant")
    assert shot(page, folder / "dashboard-pod.png").startswith(PNG)


def test_a_study_with_the_values_under_the_mouse(page: Any, address: str, folder: Path) -> None:
    page.goto(f"{address}/studies/compare?run=20260101-000000-study-one-pool")
    page.wait_for_selector("#plot-2 ~ [data-plot] .u-legend")
    page.evaluate("document.getElementById('plot-0').scrollIntoView()")
    page.hover("[data-plot='0'] .u-over", position={"x": 500, "y": 60})
    assert shot(page, folder / "dashboard-study.png").startswith(PNG)
