"""``stretto defragment``: moves of pods that free whole GPUs or nodes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from stretto.cli import options
from stretto.cli.console import Console
from stretto.cli.options import CommandContext
from stretto.cli.sources.kernels import tier_on
from stretto.cli.sources.states import StateOptions, read_state, state_options
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.control.controllers.move_plan import DefragPlan

SCHEMA = "stretto.defragment/v1"
#: Maximum number of moves listed without ``-v``.
SHOWN = 20


@dataclass(frozen=True)
class DefragmentOptions(StateOptions):
    """Options of ``defragment``."""

    #: Capacity to free: ``gpus`` or ``nodes``.
    goal: str
    #: Maximum number of moves.
    budget: int
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str


@options.command(
    "defragment",
    DefragmentOptions,
    example="""
        stretto defragment --on examples/defragment.yaml --goal gpus
        stretto defragment --on sqlite:run.db --goal nodes --budget 20
    """,
)
@click.option(
    "--goal",
    type=click.Choice(["gpus", "nodes"]),
    default="gpus",
    show_default=True,
    help="Capacity to free.",
)
@click.option(
    "--budget",
    type=options.WholeRange(1),
    default=50,
    show_default=True,
    metavar="N",
    help="Maximum number of moves.",
)
@options.TIER
@state_options
def defragment(common: CommandContext, opts: DefragmentOptions) -> None:
    """Show which pods to move to free whole GPUs or nodes.

    A dry run on a copy of the state: nothing is evicted. Pods without a controller, gangs, pods on
    NUMA nodes and pods with inter-pod rules are not moved; disruption budgets and --budget are
    respected. The table shows the free capacity before and after.
    """
    import msgspec

    from stretto.cli.output.documents import CapacityEntry, DefragmentDocument, MoveEntry
    from stretto.cli.sources.moves import planned_moves
    from stretto.plane.copy import SchedulingRules
    from stretto.state.work.rescheduling import ReschedulingGoal

    tier = tier_on(common, opts, opts.tier)
    state = read_state(common, opts, SchedulingRules("", tier)).state
    plan = planned_moves(state, ReschedulingGoal(opts.goal), opts.budget, tier)
    _show(common.console, plan, state.title)
    document = DefragmentDocument(
        goal=plan.goal.value,
        moves=tuple(MoveEntry(m.pod, m.owner, m.source, m.target) for m in plan.moves),
        before=CapacityEntry(*plan.before),
        after=CapacityEntry(*plan.after),
    )
    common.console.json(SCHEMA, msgspec.to_builtins(document))


def _show(console: Console, plan: "DefragPlan", title: str) -> None:
    """Write the moves, and the free capacity before and after."""
    from stretto.explain.inventory.moves import capacity_rows

    if plan.moves:
        console.data(f"On the {title}: {format_count(len(plan.moves), 'move')} would help.")
    else:
        console.data(f"On the {title}: no move within the budget would free {plan.goal.value}.")
    console.table(["capacity", "before", "after"], capacity_rows(plan))
    if plan.moves:
        shown = plan.moves if console.verbose else plan.moves[:SHOWN]
        console.table(["move", "from", "to"], [(m.pod, m.source, m.target) for m in shown])
        if len(shown) < len(plan.moves):
            console.note(f"and {len(plan.moves) - len(shown):,} more; -v lists every move")
