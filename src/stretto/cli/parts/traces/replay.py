"""Replays of recordings with optional changes, for ``simulate FILE`` and ``compare FILE``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
import msgspec
from click.core import ParameterSource

from stretto.base.errors import InputError
from stretto.cli.options import PLUGIN, CommandContext, WholeRange, completes
from stretto.cli.views.replays import outcome_figures, require_plots, show_sides, side_plots
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.sim.history.histories import ReplayHistory
    from stretto.sim.history.replay import ReplayOutcomes, ReplayResult
    from stretto.sim.history.what_if import NodeDrain, Variation

AS_RECORDED: Final = "as recorded"
REPLAYED: Final = "replayed"
WHAT_IF: Final = "what if"


VARYING: Final = ("profile", "plugin", "add_nodes", "drain", "burst", "queue_share")
"""Options that change a recording and do not apply to traces."""


@dataclass(frozen=True, kw_only=True)
class WhatIfOptions:
    """Options of ``simulate`` and ``compare`` that change a recording."""

    #: Path of a recording or a trace, or the folder of a trace; ``None`` if not given.
    recording: Path | None = None
    #: Scheduling profile; empty for the default one.
    profile: str = ""
    #: Number of shards.
    shards: int = 1
    #: Nodes to add.
    add_nodes: tuple[str, ...] = ()
    #: Nodes to drain.
    drain: tuple[str, ...] = ()
    #: Pods to add.
    burst: tuple[str, ...] = ()
    #: Changes of queues.
    queue_share: tuple[str, ...] = ()
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...] = ()

    @property
    def variation(self) -> "Variation":
        """Parse the variation."""
        from stretto.sim.history.what_if import read_variation

        return read_variation(self.add_nodes, self.drain, self.burst, self.queue_share)


def what_if_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that change a recording."""
    for option in reversed(
        (
            click.option(
                "--profile", default="", metavar="NAME|FILE",
                shell_complete=completes("profiles"), help="Profile [default].",
            ),
            PLUGIN,
            click.option(
                "--shards", type=WholeRange(1, 64), default=1, metavar="N",
                help="recording: number of shards [1].",
            ),
            click.option(
                "--add-nodes", metavar="NODE:N[@S]", multiple=True,
                help="recording: add N copies of a node, at second S.",
            ),
            click.option(
                "--drain", metavar="KEY=VALUE[@S]",
                help="recording: drain the nodes with a label, at second S.", multiple=True,
            ),
            click.option(
                "--burst", metavar="NS/POD:N[@S]",
                help="recording: add N copies of a pod, at second S.", multiple=True,
            ),
            click.option(
                "--queue-share", metavar="NAME:FIELD=VALUE",
                help="recording: change a queue: weight, limit.cpu, ...", multiple=True,
            ),
        )
    ):  # fmt: skip
        command = option(command)
    return command


def refuse_options(names: Sequence[str], expected: str, hint: str) -> None:
    """Refuse options that were given but do not apply.

    Raises:
        InputError: such an option is given.
    """
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            value = context.params[name]
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            raise InputError(f"--{name.replace('_', '-')}", text, expected, hint)


def simulate_recording(
    common: CommandContext, opts: WhatIfOptions, policy: str = ""
) -> "ReplayOutcomes":
    """Replay once, with the profile's own policy or another one, and compare with the recording."""
    history, varied = _histories(common, opts, [policy] if policy else [])
    variation = opts.variation
    name = WHAT_IF if policy or not variation.is_nothing else REPLAYED
    done = _replay(common, opts, _ReplaySide(name, varied, variation.drains, policy))
    recorded = recorded_side(history)
    show_sides(common.console, [(AS_RECORDED, recorded), (name, outcome_figures(done.outcomes))])
    fields = {"side": name, **msgspec.to_builtins(done.outcomes), "recorded": recorded}
    plots = side_plots([(name, done)], variation.moments())
    common.result("stretto.simulate.recording/v1", fields, plots)
    if done.outcomes.partial:
        raise KeyboardInterrupt
    return done.outcomes


def compare_recording(common: CommandContext, opts: WhatIfOptions, policies: Sequence[str]) -> None:
    """Replay without changes, then with the changes for each policy, and compare."""
    history, varied = _histories(common, opts, policies)
    sides = [(REPLAYED, _replay(common, opts, _ReplaySide(REPLAYED, history)))]
    for policy in dict.fromkeys(policies) or ("",):
        if sides[-1][1].outcomes.partial:
            break
        name = f"{WHAT_IF}: {policy}" if policy else WHAT_IF
        side = _ReplaySide(name, varied, opts.variation.drains, policy)
        sides.append((name, _replay(common, opts, side)))
    recorded = recorded_side(history)
    show_sides(
        common.console,
        [(AS_RECORDED, recorded), *((name, outcome_figures(d.outcomes)) for name, d in sides)],
    )
    side_fields = [{"side": name, **msgspec.to_builtins(done.outcomes)} for name, done in sides]
    plots = side_plots(sides, opts.variation.moments())
    document = {"recorded": recorded, "sides": side_fields}
    common.result("stretto.compare.recording/v1", document, plots)
    if any(done.outcomes.partial for _, done in sides):
        raise KeyboardInterrupt


def recorded_side(history: "ReplayHistory") -> dict[str, Any]:
    """Return the figures of the recording itself: the waits of its pods."""
    from stretto.sim.history.replay import arrived_pods, recorded_waits

    waits, arrived = recorded_waits(history), arrived_pods(history)
    count = len(waits)
    left = sum(pod.bound == inf and pod.ended < inf for pod in arrived)
    return {
        "pods": len(arrived),
        "placed": count,
        "left_waiting": left,
        "pending": len(arrived) - count - left,
        "mean_wait_s": round(sum(waits) / count, 3) if count else 0.0,
        "p95_wait_s": round(waits[int(0.95 * (count - 1))], 3) if count else 0.0,
        "max_wait_s": round(waits[-1], 3) if count else 0.0,
    }


def _histories(
    common: CommandContext, opts: WhatIfOptions, policies: Sequence[str]
) -> "tuple[ReplayHistory, ReplayHistory]":
    """Return the recorded and the changed history; invalid options fail before any replay."""
    from stretto.cli.kernels.tier import tier_of
    from stretto.cli.sources.recordings import opened_recording
    from stretto.sim.history.histories import history_of
    from stretto.sim.options import chosen_source

    if common.out is not None:
        require_plots()
    for policy in policies or [""]:
        chosen_source("default", policy, opts.profile, opts.plugin)
    assert opts.recording is not None
    recording = opened_recording(opts.recording)
    if recording.cut_off:
        common.console.warn(f"{opts.recording} is truncated: read up to its last complete line")
    history, variation = history_of(recording), opts.variation
    varied = variation.applied(history)
    for queue in variation.new_queues(history):
        common.console.warn(
            f"--queue-share {queue}: the recording has no such queue; it is created"
        )
    tier_of("auto", common.console.note)  # starts the compiler if kernels are missing
    return history, varied


class _ReplaySide(NamedTuple):
    """One side of a comparison."""

    #: Name of the side.
    name: str
    #: History of the side.
    history: "ReplayHistory"
    #: Drains during the replay.
    drains: "Sequence[NodeDrain]" = ()
    #: Policy; empty for that of the profile.
    policy: str = ""


def _replay(common: CommandContext, opts: WhatIfOptions, side: _ReplaySide) -> "ReplayResult":
    """Replay one side."""
    from stretto.cli.parts.plugins import report_health, warn_unused
    from stretto.plane.copy import PlaneSettings, SchedulingRules
    from stretto.sim.history.replay import Replay
    from stretto.sim.options import chosen_source

    source = chosen_source("default", side.policy, opts.profile, opts.plugin)
    rules = SchedulingRules(source, plugins=opts.plugin)
    replay = Replay(side.history, side.drains, rules, PlaneSettings(opts.shards, common.seed))
    warn_unused(common.console, opts.plugin, replay.profile)
    with common.console.progress(side.name, max(1, int(side.history.seconds))) as bar:
        done = replay.run(lambda time: bar.update(int(time)))
    report_health(common.console, replay.profile)
    found = done.outcomes
    if found.partial:
        covered = f"{found.seconds:g} of {side.history.seconds:g} s"
        common.console.warn(f"{side.name}: interrupted; the figures cover {covered}")
    if found.refused:
        common.console.warn(
            f"{side.name}: {format_count(found.refused, 'object')} refused: {found.refusal}"
        )
    return done
