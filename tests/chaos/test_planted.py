"""The checks bite: every planted bug is found within a bounded number of seeds."""

import msgspec
import pytest

from stretto.lab.chaos.report import Campaign, run_campaign
from stretto.lab.chaos.run import Result, run_seed
from stretto.lab.chaos.setup import draw
from stretto.lab.chaos.shrink import Shrinker
from tests.chaos.planted import HEAT, PLANTS

pytestmark = pytest.mark.chaos

SEEDS = 120
STEPS = 100


def first_failure(name: str) -> Result | None:
    for seed in range(SEEDS):
        setup = draw(seed)
        odds = {**setup.odds, **HEAT.get(name, {})}
        durable = setup.durable or "file" in name
        result = run_seed(
            seed, STEPS, setup=msgspec.structs.replace(setup, odds=odds, durable=durable)
        )
        if result.breaches:
            return result
    return None


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[name](monkeypatch)
    assert first_failure(name) is not None


def test_there_are_many_different_bugs() -> None:
    assert len(PLANTS) >= 20


def test_a_failure_is_shrunk_and_still_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS["a_dead_shard_takes_its_units_along"](monkeypatch)
    result = next(r for seed in range(SEEDS) if (r := run_seed(seed, STEPS)).breaches)
    failure = Shrinker(result, STEPS, most_runs=40).shrink()
    assert len(failure.faults) < len(result.happened)
    assert run_seed(failure.seed, failure.steps, only=failure.faults).breaches


def test_a_campaign_names_the_command_that_shows_it_again(
    monkeypatch: pytest.MonkeyPatch, clock: object
) -> None:
    PLANTS["nobody_is_woken"](monkeypatch)
    report = run_campaign(Campaign(0, 1, STEPS, shrink=0), clock)  # type: ignore[arg-type]
    (failing,) = report.as_json()["failing"]
    assert failing["replay"] == f"stretto chaos --seed 0 --seeds 1 --steps {STEPS}"
