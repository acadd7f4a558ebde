"""Connects the order between queues with the unschedulable units."""

from stretto.control.dispatcher.waiting.pool import WaitingUnits
from stretto.control.queues.config import DispatcherConfig
from stretto.control.queues.fairness import TreeTurns, make_turns
from stretto.control.queues.queue import UnitQueue
from stretto.control.queues.round_robin import QueueTurns
from stretto.state.queues.usage import QueueUsage


def connected_turns(
    config: DispatcherConfig, usage: QueueUsage | None, unschedulable: WaitingUnits
) -> QueueTurns:
    """Create the order between queues; unschedulable units wake in the same order."""
    turns = make_turns(config, usage)
    unschedulable.standing = turns.standing if isinstance(turns, TreeTurns) else None
    if isinstance(turns, TreeTurns):
        turns.on_rest = lambda queue: _rest(unschedulable, queue)
    return turns


def _rest(unschedulable: WaitingUnits, queue: UnitQueue) -> None:
    """Process a queue that a limit blocks: the capacity for its woken units may fit others."""
    if unschedulable.woken_units:
        for unit in unschedulable.stuck(queue.name):
            unschedulable.not_placed(unit)
