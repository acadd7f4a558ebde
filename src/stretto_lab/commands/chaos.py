"""``stretto chaos``: run the fault simulator over many seeds, or replay one failure."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stretto.base.errors import CheckFailedError
from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto_lab.chaos.report import CampaignReport
    from stretto_lab.chaos.trace import ChaosFailure


@dataclass(frozen=True)
class ChaosOptions:
    """Options of ``chaos``."""

    #: Number of seeds, starting with ``--seed``.
    seeds: int
    #: Steps of each seed before the heal.
    steps: int
    #: A saved failure to replay instead.
    replay: Path | None
    #: True if frameworks and offers are simulated instead of pods.
    offers: bool
    #: True if fleets of clusters are simulated instead of pods.
    fleets: bool
    #: True if pods and tasks of frameworks are simulated in one pool.
    pool: bool


@options.command(
    "chaos",
    ChaosOptions,
    example="""
        stretto chaos --seeds 200 --steps 400
        stretto chaos --seed 17 --seeds 1 --steps 400
        stretto chaos --replay out/chaos-17.json
        stretto chaos --offers --seeds 1000 --steps 100
        stretto chaos --fleets --seeds 200 --steps 200
        stretto chaos --pool --seeds 100 --steps 300
    """,
    out=True,
)
@click.option("--seeds", type=options.POSITIVE, default=50, help="Number of seeds [50].")
@click.option("--steps", type=options.POSITIVE, default=400, help="Steps of each seed [400].")
@click.option("--replay", type=options.INPUT_FILE, metavar="FILE", help="Replay a saved failure.")
@click.option("--offers", is_flag=True, help="Simulate frameworks and offers instead of pods.")
@click.option("--fleets", is_flag=True, help="Simulate fleets of clusters instead of pods.")
@click.option("--pool", is_flag=True, help="Simulate pods and tasks of frameworks in one pool.")
def chaos(common: CommandContext, opts: ChaosOptions) -> None:
    """Run the fault simulator and check every law.

    Each seed draws a cluster, its workload and its faults. It runs the real plane in virtual time,
    checks every law after each step, then stops all faults and requires that every pod that fits is
    placed. A violated law exits with code 9; the output shows the command that reproduces it, and a
    shrunk trace is written to --out (default: out). Ctrl-C reports the seeds that are done.

    With --offers, each seed draws agents, frameworks (greedy, slow, silent, flapping), roles and
    quota over the allocator of offers instead. With --fleets, each seed draws a federation: its
    members, Deployments that roll, move and scale, and faults of members, host and controllers.
    With --pool, each seed draws nodes, pods, queues and frameworks over one store and one ledger.
    """
    if opts.offers + opts.fleets + opts.pool > 1:
        text = "--offers, --fleets and --pool are three worlds: give one of them"
        raise click.UsageError(text, click.get_current_context())
    if opts.offers or opts.fleets or opts.pool:
        (_run_fleets if opts.fleets else _run_offers)(common, opts)
        return
    if opts.replay is not None:
        _replay(common.console, opts.replay)
        return
    from stretto_lab.chaos.report import SCHEMA, Campaign, run_campaign
    from stretto_lab.chaos.run import SeedResult

    console = common.console
    done = 0
    with console.progress("chaos", opts.seeds) as progress:

        def on_seed(result: SeedResult) -> None:
            nonlocal done
            done += 1
            progress.update(done, f"seed {result.seed}")

        campaign = Campaign(common.seed, opts.seeds, opts.steps)
        report = run_campaign(campaign, console.clock, on_seed)
    _show(console, report)
    saved = [_save(common, failure) for failure in report.failures]
    console.json(SCHEMA, report.as_json())
    if report.partial is True:
        raise KeyboardInterrupt
    if report.failing:
        seeds = ", ".join(map(str, list(report.failing)[:10]))
        hint = f"replay it with --replay {saved[0]}" if saved else ""
        raise CheckFailedError(f"a law (seeds {seeds})", _first(report), hint)
    console.data("\nall laws hold")


def _run_offers(common: CommandContext, opts: ChaosOptions) -> None:
    """Run the fault simulator of resource offers, alone or in one pool with pods."""
    import msgspec

    from stretto_lab.chaos.offers.play import OfferPlay
    from stretto_lab.chaos.pool.play import PoolPlay
    from stretto_lab.chaos.seeds import run_seeds

    begin, option = (PoolPlay, "--pool") if opts.pool else (OfferPlay, "--offers")
    seeds = range(common.seed, common.seed + opts.seeds)
    with common.console.progress("chaos", opts.seeds) as progress:
        found = run_seeds(begin, seeds, opts.steps, progress.update)
    failing = [each for each in found if each.breach]
    steps = sum(each.steps for each in found)
    common.console.data(f"{format_count(len(found), 'seed')}, {steps:,} steps")
    for each in failing:
        common.console.data(f"seed {each.seed}, {each.breach}")
    common.console.json("stretto.chaos-offers/v1", {"seeds": msgspec.to_builtins(found)})
    if failing:
        command = f"stretto chaos {option} --seed {failing[0].seed} --seeds 1 --steps {opts.steps}"
        raise CheckFailedError("a law of offers", failing[0].breach, f"repeat it with {command}")
    if len(found) < opts.seeds:
        raise KeyboardInterrupt
    common.console.data("all laws hold")


def _run_fleets(common: CommandContext, opts: ChaosOptions) -> None:
    """Run the fault simulator of fleets."""
    import msgspec

    from stretto_lab.chaos.fleets.campaign import FleetCampaign, run_campaign

    schema = "stretto.chaos-fleets/v1"

    def record(made: FleetCampaign) -> dict[str, Any]:
        options = {"first": common.seed, "steps_of_a_seed": opts.steps}
        return {**options, "campaign": msgspec.to_builtins(made)}

    console = common.console
    seeds = range(common.seed, common.seed + opts.seeds)
    with console.progress("chaos", opts.seeds) as progress:

        def on_seed(made: FleetCampaign) -> None:
            progress.update(made.seeds)
            if made.seeds % 100 == 0:
                console.json_so_far(schema, record(made))

        found = run_campaign(seeds, opts.steps, on_seed)
    console.table(["event", "times"], sorted(found.events.items()))
    console.table(["controllers killed at", "times"], sorted(found.crashes.items()))
    console.table(["law", "checks"], sorted(found.checked.items()))
    seconds = f"{found.seconds:,.0f} virtual seconds"
    console.data(f"{format_count(found.seeds, 'seed')}, {found.steps:,} steps, {seconds}")
    for seed, breach in found.failed.items():
        console.data(f"seed {seed}, {breach}")
    console.json(schema, record(found))
    if found.failed:
        seed, breach = next(iter(found.failed.items()))
        command = f"stretto chaos --fleets --seed {seed} --seeds 1 --steps {opts.steps}"
        raise CheckFailedError("a law of fleets", breach, f"repeat it with {command}")
    if found.seeds < opts.seeds:
        raise KeyboardInterrupt
    console.data("all laws hold")


def _first(report: "CampaignReport") -> str:
    """The first breach of a failing campaign."""
    return next(iter(report.failing.values()))[0]


def _save(common: CommandContext, failure: "ChaosFailure") -> Path:
    """Write a shrunk failure."""
    from stretto_lab.chaos.trace import save_failure

    folder = common.out or Path("out")
    folder.mkdir(exist_ok=True)
    path = folder / f"chaos-{failure.seed}.json"
    save_failure(failure, path)
    common.console.note(f"written: {path}")
    return path


def _show(console: Console, report: "CampaignReport") -> None:
    """Show the figures, then the failures."""
    from stretto_lab.chaos.report import crashes, replay

    faults, at = crashes(report.faults.items())
    console.table(["fault", "fired"], faults)
    console.table(["crash at", "times"], at)
    console.table(["law", "checks"], sorted(report.checked.items()))
    rate = report.steps / report.took_s if report.took_s else 0.0
    console.data(
        f"\n{format_count(report.seeds, 'seed')} of {report.options.steps:,} steps with faults; "
        f"with the recovery, {report.steps:,} steps in {report.took_s:,.1f} s "
        f"({rate:,.0f} a second), {report.virtual_s:,.0f} virtual seconds, "
        f"{report.bound:,} pods bound, trace {report.trace}"
    )
    for seed, breaches in report.failing.items():
        console.data(
            f"\nseed {seed} violates {breaches[0]}\n  {replay(seed, report.options.steps)}"
        )
    for failure in report.failures:
        console.data(f"\nseed {failure.seed}, shrunk to {len(failure.faults)} faults and changes:")
        for fault in failure.faults:
            console.data(f"  step {fault.step}: {fault.kind} ({fault.nth})")


def _replay(console: Console, path: Path) -> None:
    """Replay a saved failure."""
    from stretto_lab.chaos.run import run_seed
    from stretto_lab.chaos.trace import load_failure

    failure = load_failure(path)
    result = run_seed(failure.seed, failure.steps, only=failure.faults)
    found = {"seed": result.seed, "trace": result.trace, "breaches": result.breaches}
    console.json("stretto.chaos.replay/v1", found)
    if result.breaches:
        what = f"a law (seed {failure.seed}, step {result.failed_at})"
        raise CheckFailedError(what, "; ".join(result.breaches))
    console.data(f"{len(failure.faults)} faults and changes of seed {failure.seed}: all laws hold")
