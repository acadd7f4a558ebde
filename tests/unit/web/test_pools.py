"""The pages of offers and of clusters."""

import pytest

from stretto.base.clock import ManualClock
from stretto.base.errors import InputError, UnreachableError
from stretto.federation.answers.records import ClusterFacts
from stretto.web.views.offers import OfferBoard, read_board
from stretto.web.views.parts import DashboardParts
from stretto.web.views.recent import RecentView
from tests.unit.web.dashboards import get, small_dashboard

DOCUMENT = {
    "roles": [{"name": "batch", "weight": 2.0, "share": 0.25, "frameworks": 1, "filters": 3}],
    "frameworks": [
        {
            "id": "m-0000",
            "name": "spark",
            "roles": ["batch"],
            "suppressed": [],
            "connected": True,
            "tasks": 4,
            "used": "cpus:2",
            "offers": 2,
            "oldest": 75.0,
        }
    ],
    "offers": [
        {
            "id": f"m-O{number}",
            "framework_id": "m-0000",
            "agent_id": f"m-S{number}",
            "role": "batch",
            "resources": "cpus:8",
            "age": age,
        }
        for number, age in enumerate((5.0, 75.0))
    ],
}
CLUSTERS = [
    ClusterFacts("east", "ready", 4, 32_000, 0.625, 2, 13, 0, ()),
    ClusterFacts("west", "not ready", 2, 16_000, 0.5, 2, 6, 1500, ("lab=:NoSchedule",)),
]


def page(path: str, parts: DashboardParts) -> str:
    return get(small_dashboard(parts), path).text


def failing() -> OfferBoard:
    raise UnreachableError("the master at http://127.0.0.1:5050", "it does not answer")


def test_roles_frameworks_and_offers_are_listed() -> None:
    text = page("/offers", DashboardParts(offers=lambda: read_board(DOCUMENT)))
    assert all(each in text for each in ("batch", "25.0 %", "spark", "cpus:2", "m-S1"))


def test_the_oldest_offer_is_the_first_one() -> None:
    text = page("/offers", DashboardParts(offers=lambda: read_board(DOCUMENT)))
    assert text.index("m-S1") < text.index("m-S0")


def test_clusters_are_listed_with_health_and_replicas() -> None:
    text = page("/clusters", DashboardParts(clusters=lambda: CLUSTERS))
    assert all(each in text for each in ("2 clusters, 1 ready", "not ready", "13", "62 %", "1.50"))


@pytest.mark.parametrize("name", ["offers", "clusters"])
def test_a_page_without_data_is_neither_linked_nor_served(name: str) -> None:
    app = small_dashboard()
    assert f'href="/{name}"' not in get(app, "/pods").text
    assert get(app, f"/{name}").status_code == 404


def test_a_page_with_data_is_linked() -> None:
    assert 'href="/offers"' in page("/pods", DashboardParts(offers=lambda: read_board(DOCUMENT)))


def test_a_master_that_does_not_answer_is_reported_on_its_page() -> None:
    assert "it does not answer" in page("/offers", DashboardParts(offers=failing))


def test_a_document_that_is_none_of_a_master_is_refused() -> None:
    with pytest.raises(InputError, match="the offers of a master"):
        read_board({"roles": "many"})


def test_a_view_is_read_again_after_a_while() -> None:
    clock, numbers = ManualClock(0.0), iter(range(9))
    view = RecentView(lambda: next(numbers), clock, seconds=1.0)
    first, second = view(), view()
    clock.advance(1.0)
    assert (first, second, view()) == (0, 0, 1)
