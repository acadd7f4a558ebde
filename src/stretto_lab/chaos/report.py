"""Many seeds and what came of them: figures for people, the same as JSON."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from stretto.base.clock import Clock
from stretto_lab.chaos.draws.faults import WORLD
from stretto_lab.chaos.run import SeedResult, run_seed
from stretto_lab.chaos.shrink import Shrinker
from stretto_lab.chaos.trace import ChaosFailure, TraceHash

SCHEMA: Final = "stretto.chaos/v1"
"""Version of the JSON report."""

Told = Callable[[SeedResult], None]
"""Told of each seed when it is done."""


class Campaign(msgspec.Struct, frozen=True):
    """What to run."""

    #: The first seed; the others follow.
    first: int
    #: How many seeds.
    seeds: int
    #: Steps of each, before the heal.
    steps: int
    #: Failing seeds that are shrunk; the others are only named.
    shrink: int = 3


class CampaignReport(msgspec.Struct):
    """What came of a campaign."""

    #: What was asked.
    asked: Campaign
    #: Seeds done.
    seeds: int = 0
    #: Steps taken, those of the heals among them.
    steps: int = 0
    #: Virtual seconds that passed.
    virtual_s: float = 0.0
    #: Real seconds that it took.
    took_s: float = 0.0
    #: Binds that became true.
    bound: int = 0
    #: Faults by kind, crashes by failpoint among them.
    faults: Counter[str] = msgspec.field(default_factory=Counter)
    #: Checks by law.
    checked: Counter[str] = msgspec.field(default_factory=Counter)
    #: Seeds at which a law was broken, with what was said.
    failing: dict[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    #: The first of them, shrunk.
    failures: list[ChaosFailure] = msgspec.field(default_factory=list)
    #: Hash over the traces of all seeds: the same campaign, the same hash.
    trace: str = ""

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        found: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        found["failing"] = [
            {"seed": seed, "breaches": list(said), "replay": replay(seed, self.asked.steps)}
            for seed, said in self.failing.items()
        ]
        return found


def run_campaign(asked: Campaign, clock: Clock, told: Told = lambda _: None) -> CampaignReport:
    """Run every seed; a failing one is shrunk. An interrupt keeps what is done so far."""
    report = CampaignReport(asked)
    started = clock.monotonic()
    trace = TraceHash()
    for seed in range(asked.first, asked.first + asked.seeds):
        result = run_seed(seed, asked.steps)
        _add(report, result)
        trace.add(result.trace)
        if result.breaches:
            report.failing[seed] = result.breaches
            if len(report.failures) < asked.shrink:
                report.failures.append(Shrinker(result, asked.steps).shrink())
        report.took_s = clock.monotonic() - started
        report.trace = trace.hash()
        told(result)
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
    """Counts of faults, crashes at failpoints apart."""
    rows = sorted(faults, key=lambda row: (-row[1], row[0]))
    at = [(kind.removeprefix("crash "), n) for kind, n in rows if kind.startswith("crash ")]
    return [row for row in rows if not row[0].startswith("crash ")], at
