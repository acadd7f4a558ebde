"""The checks bite: every planted bug is found within a bounded number of seeds."""

from pathlib import Path

import msgspec
import pytest

from stretto.cli.main import cli
from stretto_lab.chaos.report import Campaign, run_campaign
from stretto_lab.chaos.run import SeedResult, run_seed
from stretto_lab.chaos.setup import draw
from stretto_lab.chaos.shrink import Shrinker
from tests.chaos.planted import FOUND, HEAT, PLANTS

pytestmark = pytest.mark.chaos

SEEDS = 60
STEPS = 100


def first_failure(name: str) -> SeedResult | None:
    for seed in (FOUND.get(name, 0), *range(SEEDS)):
        drawn = draw(seed)
        setup = msgspec.structs.replace(
            drawn,
            pace=1.0,
            odds={**drawn.odds, **HEAT.get(name, {})},
            durable=drawn.durable or "file" in name,
        )
        result = run_seed(seed, STEPS, setup=setup)
        if result.breaches:
            return result
    return None


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS[name](monkeypatch)
    assert first_failure(name) is not None


def test_late_answers_alone_find_what_is_wrong_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS["a_late_answer_is_applied_to_a_reused_row"](monkeypatch)
    drawn = [draw(seed) for seed in range(3)]
    calm = [msgspec.structs.replace(each, odds={**each.odds, "late_answer": 0.0}) for each in drawn]
    assert [run_seed(each.seed, STEPS, setup=each).breaches for each in calm] == [()] * 3


def test_there_are_many_different_bugs() -> None:
    assert len(PLANTS) >= 20


def test_a_failure_is_shrunk_and_still_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTS["a_crashed_shard_loses_its_units"](monkeypatch)
    seeds = (8, *range(SEEDS))  # the first one fails as it is drawn today
    result = next(r for seed in seeds if (r := run_seed(seed, STEPS)).breaches)
    failure = Shrinker(result, STEPS, most_runs=12).shrink()
    assert len(failure.faults) < len(result.happened)
    assert run_seed(failure.seed, failure.steps, only=failure.faults).breaches


def test_a_campaign_names_the_command_that_shows_it_again(
    monkeypatch: pytest.MonkeyPatch, clock: object
) -> None:
    PLANTS["no_unit_is_woken"](monkeypatch)
    seed = next(s for s in range(SEEDS) if run_seed(s, STEPS).breaches)
    report = run_campaign(Campaign(seed, 1, STEPS, shrink=0), clock)  # type: ignore[arg-type]
    (failing,) = report.as_json()["failing"]
    assert failing["replay"] == f"stretto chaos --seed {seed} --seeds 1 --steps {STEPS}"


def test_the_command_fails_with_9_and_keeps_what_can_be_replayed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    PLANTS["a_refund_comes_twice"](monkeypatch)
    words = ["chaos", "--seeds", "1", "--steps", "20", "--out", str(tmp_path)]
    assert cli._run(words) == 9
    assert "stretto chaos --seed 0 --seeds 1 --steps 20" in capsys.readouterr().out
    assert cli._run(["chaos", "--replay", str(tmp_path / "chaos-0.json")]) == 9
