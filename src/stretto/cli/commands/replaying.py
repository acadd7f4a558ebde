"""What ``simulate FILE`` and ``compare FILE`` share: a recording once more, varied or not."""

from collections.abc import Callable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import msgspec
from click.core import ParameterSource

from stretto.base.errors import InputError
from stretto.cli import sinks
from stretto.cli.console import cell
from stretto.cli.options import PLUGIN, CommandContext
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.sim.history.histories import ReplayHistory
    from stretto.sim.history.replay import ReplayOutcomes, ReplayResult
    from stretto.sim.history.what_if import NodeDrain, Variation

AS_RECORDED: Final = "as recorded"
REPLAYED: Final = "replayed"
WHAT_IF: Final = "what if"


VARYING: Final = ("profile", "plugin", "add_nodes", "drain", "burst", "queue_share")
"""Options that vary a recording and mean nothing to a trace."""


class WhatIfOptions(msgspec.Struct, frozen=True):
    """What is asked of a replay, in the words of the command line."""

    #: The recording.
    recording: Path
    #: Policies, each a side of a comparison; empty for the profile's own.
    policies: tuple[str, ...] = ()
    #: Profile; empty for the default one.
    profile: str = ""
    #: Scheduler shards.
    shards: int = 1
    #: More nodes.
    add_nodes: tuple[str, ...] = ()
    #: Nodes that are emptied.
    drain: tuple[str, ...] = ()
    #: More pods.
    burst: tuple[str, ...] = ()
    #: Other queues.
    queue_share: tuple[str, ...] = ()
    #: Files with rules that the profile may name.
    plugins: tuple[Path, ...] = ()

    @property
    def variation(self) -> "Variation":
        """The variation that the words come to."""
        from stretto.sim.history.what_if import read_variation

        return read_variation(self.add_nodes, self.drain, self.burst, self.queue_share)


def what_if_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that vary a recording."""
    for option in reversed(
        (
            click.option("--profile", default="", metavar="NAME|FILE", help="Scheduling profile."),
            PLUGIN,
            click.option(
                "--shards", type=click.IntRange(1, 64), default=1, metavar="N",
                help="recording: scheduler shards [1].",
            ),
            click.option(
                "--add-nodes", metavar="NODE:N[@S]", multiple=True,
                help="recording: N more nodes like one, at second S.",
            ),
            click.option(
                "--drain", metavar="KEY=VALUE[@S]",
                help="recording: empty the nodes with a label, at second S.", multiple=True,
            ),
            click.option(
                "--burst", metavar="NS/POD:N[@S]",
                help="recording: N more pods like one, at second S.", multiple=True,
            ),
            click.option(
                "--queue-share", metavar="NAME:FIELD=VALUE",
                help="recording: a queue with another weight, limit.cpu, ...", multiple=True,
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def refuse_options(names: Sequence[str], expected: str, hint: str) -> None:
    """Say no to options of the command at hand that were given and would count for nothing.

    Raises:
        InputError: one was.
    """
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            value = context.params[name]
            told = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            raise InputError(f"--{name.replace('_', '-')}", told, expected, hint)


def simulate_recording(common: CommandContext, asked: WhatIfOptions) -> "ReplayOutcomes":
    """One replay, with what was recorded beside it."""
    history, varied = _histories(common, asked)
    variation = asked.variation
    name = WHAT_IF if asked.policies or not variation.is_nothing else REPLAYED
    policy = asked.policies[0] if asked.policies else ""
    done = _replay(common, asked, _ReplaySide(name, varied, variation.drains, policy))
    recorded = recorded_side(history)
    _table(common, [(AS_RECORDED, recorded), (name, _shown(done.outcomes))])
    told = {"side": name, **msgspec.to_builtins(done.outcomes), "recorded": recorded}
    common.console.json("stretto.simulate.recording/v1", told)
    _plot(common, [(name, done)])
    if done.outcomes.partial:
        raise KeyboardInterrupt
    return done.outcomes


def compare_recording(common: CommandContext, asked: WhatIfOptions) -> None:
    """As it was beside what if: a replay without changes, then one for each policy."""
    history, varied = _histories(common, asked)
    sides = [(REPLAYED, _replay(common, asked, _ReplaySide(REPLAYED, history)))]
    for policy in dict.fromkeys(asked.policies) or ("",):
        if sides[-1][1].outcomes.partial:
            break
        name = f"{WHAT_IF}: {policy}" if policy else WHAT_IF
        side = _ReplaySide(name, varied, asked.variation.drains, policy)
        sides.append((name, _replay(common, asked, side)))
    recorded = recorded_side(history)
    _table(common, [(AS_RECORDED, recorded), *((name, _shown(d.outcomes)) for name, d in sides)])
    told = [{"side": name, **msgspec.to_builtins(done.outcomes)} for name, done in sides]
    common.console.json("stretto.compare.recording/v1", {"recorded": recorded, "sides": told})
    _plot(common, sides)
    if any(done.outcomes.partial for _, done in sides):
        raise KeyboardInterrupt


def recorded_side(history: "ReplayHistory") -> dict[str, Any]:
    """What the recording itself says of its pods' waits."""
    from stretto.sim.history.replay import arrived_pods, recorded_waits

    waits, asked = recorded_waits(history), arrived_pods(history)
    count = len(waits)
    left = sum(pod.bound == inf and pod.left < inf for pod in asked)
    return {
        "pods": len(asked),
        "placed": count,
        "left_waiting": left,
        "pending": len(asked) - count - left,
        "mean_wait_s": round(sum(waits) / count, 3) if count else 0.0,
        "p95_wait_s": round(waits[int(0.95 * (count - 1))], 3) if count else 0.0,
        "max_wait_s": round(waits[-1], 3) if count else 0.0,
    }


def _histories(
    common: CommandContext, asked: WhatIfOptions
) -> "tuple[ReplayHistory, ReplayHistory]":
    """As it was, and what if: words that do not fit are told before any side runs."""
    from stretto.inputs.objects.recordings import load_recording
    from stretto.sim.history.histories import history_of
    from stretto.sim.policies import check_policies

    if common.out is not None:
        from stretto.sim.plots import check_plots

        check_plots()
    check_policies(asked.policies)
    recording = load_recording(asked.recording)
    if recording.cut_off:
        common.console.warn(f"{asked.recording} was cut off: taken up to its last whole line")
    history, variation = history_of(recording), asked.variation
    varied = variation.applied(history)
    for queue in variation.new_queues(history):
        common.console.warn(f"--queue-share {queue}: no queue of the recording; it is made")
    return history, varied


class _ReplaySide(NamedTuple):
    """One side of a comparison."""

    #: How it is called.
    name: str
    #: What happens.
    history: "ReplayHistory"
    #: Nodes that are emptied as it happens.
    drains: "Sequence[NodeDrain]" = ()
    #: Policy; empty for the profile's own.
    policy: str = ""


def _replay(common: CommandContext, asked: WhatIfOptions, side: _ReplaySide) -> "ReplayResult":
    """One side."""
    from stretto.cli.commands.plugins import tell, warn_unused
    from stretto.sim.history.replay import Replay
    from stretto.sim.setup import PlaneSettings, SchedulingRules, chosen_source

    source = chosen_source("default", side.policy, asked.profile, asked.plugins)
    rules = SchedulingRules(source, plugins=asked.plugins)
    replay = Replay(side.history, side.drains, rules, PlaneSettings(asked.shards, common.seed))
    warn_unused(common.console, asked.plugins, replay.profile)
    with common.console.progress(side.name, max(1, int(side.history.seconds))) as bar:
        done = replay.run(lambda time: bar.update(int(time)))
    tell(common.console, replay.profile)
    found = done.outcomes
    if found.partial:
        covered = f"{found.seconds:g} of {side.history.seconds:g} s"
        common.console.warn(f"{side.name}: interrupted, figures are of {covered}")
    if found.refused:
        common.console.warn(
            f"{side.name}: {format_count(found.refused, 'object')} refused: {found.refusal}"
        )
    return done


def _shown(outcomes: "ReplayOutcomes") -> dict[str, Any]:
    """What the table says of a side."""
    found = msgspec.to_builtins(outcomes)
    for name, part in found.pop("used_mean").items():
        found[f"{name} in use, mean %"] = round(100 * part, 2)
    for name, part in found.pop("used_peak").items():
        found[f"{name} in use, peak %"] = round(100 * part, 2)
    for name in ("refusal", "partial", "seconds"):
        found.pop(name)
    return dict(found)


def _table(common: CommandContext, sides: Sequence[tuple[str, dict[str, Any]]]) -> None:
    names = list(dict.fromkeys(name for _, side in sides for name in side))
    rows = [
        (
            name.replace("_wait_s", " wait (s)").replace("_", " "),
            *(cell(s.get(name)) for _, s in sides),
        )
        for name in names
    ]
    common.console.table(["", *(name for name, _ in sides)], rows)


def _plot(common: CommandContext, sides: "Sequence[tuple[str, ReplayResult]]") -> None:
    """Use and waiting over time, as pictures in the output folder."""
    if common.out is None:
        return
    from stretto.sim.occupancy import NAMES
    from stretto.sim.plots import PlotLine, PlotTexts, curves_png

    pictures: list[tuple[str, list[PlotLine], PlotTexts]] = []
    for number, resource in enumerate(NAMES):
        if any(resource in done.outcomes.used_peak for _, done in sides):
            lines = [
                PlotLine(
                    name,
                    [level.time_s for level in done.levels],
                    [100 * level.used[number] for level in done.levels],
                    colour,
                    steps=True,
                )
                for colour, (name, done) in enumerate(sides)
            ]
            pictures.append(
                (
                    resource,
                    lines,
                    PlotTexts(f"{resource} in use", "seconds", "% of all", from_0=True),
                )
            )
    waiting = [
        PlotLine(
            name,
            [level.time_s for level in done.levels],
            [float(level.pending) for level in done.levels],
            colour,
            steps=True,
        )
        for colour, (name, done) in enumerate(sides)
    ]
    pictures.append(
        ("pending", waiting, PlotTexts("pods that wait", "seconds", "pods", from_0=True))
    )
    for name, lines, words in pictures:
        target = common.out / f"{name}.png"
        sinks.write_whole(target, curves_png(lines, words))
        common.console.note(f"plot: {target}")
