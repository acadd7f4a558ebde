"""Campaigns over many seeds, reported as tables and as JSON."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from stretto.base.clock import Clock
from stretto_lab.chaos.draws.faults import WORLD
from stretto_lab.chaos.run import SeedResult, run_seed
from stretto_lab.chaos.shrink import Shrinker
from stretto_lab.chaos.trace import ChaosFailure, TraceHash

SCHEMA: Final = "stretto.chaos/v1"
"""Version of the JSON report."""

OnSeed = Callable[[SeedResult], None]
"""Called with the result of each seed."""


class Campaign(msgspec.Struct, frozen=True):
    """The parameters of a campaign."""

    #: First seed; the others follow it.
    first: int
    #: Number of seeds.
    seeds: int
    #: Steps of each, before the heal.
    steps: int
    #: Number of failing seeds to shrink; later ones are only listed.
    shrink: int = 3


class CampaignReport(msgspec.Struct):
    """Results of a campaign."""

    #: Options of the campaign.
    options: Campaign
    #: Seeds done.
    seeds: int = 0
    #: Steps, including those of the heals.
    steps: int = 0
    #: Virtual seconds.
    virtual_s: float = 0.0
    #: Wall-clock seconds.
    took_s: float = 0.0
    #: Confirmed binds.
    bound: int = 0
    #: Faults by kind, including crashes by failpoint.
    faults: Counter[str] = msgspec.field(default_factory=Counter)
    #: Checks by law.
    checked: Counter[str] = msgspec.field(default_factory=Counter)
    #: Breaches by failing seed.
    failing: dict[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    #: The first failures, shrunk.
    failures: list[ChaosFailure] = msgspec.field(default_factory=list)
    #: Hash over the traces of all seeds; equal campaigns have equal hashes.
    trace: str = ""
    #: True if the campaign was interrupted; unset if it was not.
    partial: bool | UnsetType = UNSET

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        found: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        found["failing"] = [
            {"seed": seed, "breaches": list(breaches), "replay": replay(seed, self.options.steps)}
            for seed, breaches in self.failing.items()
        ]
        return found


def run_campaign(
    options: Campaign, clock: Clock, on_seed: OnSeed = lambda _: None
) -> CampaignReport:
    """Run every seed and shrink failing ones.

    Ctrl-C ends the campaign early; the report then contains the finished seeds and is partial.
    """
    report = CampaignReport(options)
    started = clock.monotonic()
    trace = TraceHash()
    try:
        for seed in range(options.first, options.first + options.seeds):
            result = run_seed(seed, options.steps)
            _add(report, result)
            trace.add(result.trace)
            if result.breaches:
                report.failing[seed] = result.breaches
                if len(report.failures) < options.shrink:
                    report.failures.append(Shrinker(result, options.steps).shrink())
            report.took_s = clock.monotonic() - started
            report.trace = trace.hash()
            on_seed(result)
    except KeyboardInterrupt:
        report.partial = True
    return report


def _add(report: CampaignReport, result: SeedResult) -> None:
    report.seeds += 1
    report.steps += result.steps
    report.virtual_s += result.seconds
    report.bound += result.bound
    report.faults.update({kind: n for kind, n in result.fired.items() if kind != WORLD})
    report.checked.update(result.checked)


def replay(seed: int, steps: int) -> str:
    """The command that runs one seed again."""
    return f"stretto chaos --seed {seed} --seeds 1 --steps {steps}"


def crashes(faults: Iterable[tuple[str, int]]) -> tuple[list[tuple[str, int]], list[Any]]:
    """Counts of faults, with crashes at failpoints in a second list."""
    rows = sorted(faults, key=lambda row: (-row[1], row[0]))
    at = [(kind.removeprefix("crash "), n) for kind, n in rows if kind.startswith("crash ")]
    return [row for row in rows if not row[0].startswith("crash ")], at
