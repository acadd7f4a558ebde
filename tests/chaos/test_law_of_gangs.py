"""Law 8 for the release of broken gangs, which random worlds meet too rarely: a scripted world."""

from types import SimpleNamespace
from typing import Any

import pytest

from stretto.control.dispatcher.reclaimer import Reclaimer
from stretto.control.dispatcher.waiting.broken_gangs import BrokenGangs
from stretto.plane.plane import Stage
from stretto_lab.chaos.laws.evictors import EvictorLaw
from stretto_lab.chaos.laws.started import EvictionWatch
from tests.scenarios.test_evictors import broken_pair

pytestmark = pytest.mark.chaos


def breaches_of_a_release() -> list[str]:
    """Return the violations while one of two gangs is released; the second has a guarantee."""
    harness, found = broken_pair(cpu="4"), list[str]()
    law, watch = EvictorLaw(SimpleNamespace(changes=0, members={})), EvictionWatch()  # type: ignore[arg-type]

    def look(plane: Any, _: object) -> None:
        found.extend(each.what for each in law.breaches(plane, watch.started(plane), set()))

    harness.plane.stages = (*harness.plane.stages, Stage("law", look))
    harness.run(60)
    assert law.checked["8 evictions that were gang evicted whole"] == 2
    return found


@pytest.fixture(autouse=True)
def without_reclaim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the guarantee is served before any gang is released."""
    monkeypatch.setattr(Reclaimer, "orders", lambda *_: [])


def test_the_release_of_a_gang_without_a_guarantee_is_lawful() -> None:
    assert breaches_of_a_release() == []


def test_the_law_finds_the_release_of_a_gang_within_its_guarantee(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BrokenGangs, "_may_reclaim", lambda *_: False)
    (text, *_) = breaches_of_a_release()
    assert text.endswith("which it may evict by its guarantee")
