"""Applies added, changed and deleted Queue objects while the dispatcher runs.

The last readable version of a queue counts; an unreadable one changes nothing. A deleted queue that
is in use *drains*: its pods continue to run and count for its ancestors, and its pending units wait
until the object exists again. A drained queue is dropped once it is empty. Pods that name it then
use a queue with default settings.
"""

from collections.abc import Iterable
from dataclasses import replace

from stretto.base.errors import InputError
from stretto.control.dispatcher.states.moves import UnitMoves
from stretto.control.dispatcher.waiting.turns import connected_turns
from stretto.control.queues.config import QueueConfig, queue_config
from stretto.control.queues.fairness import TreeTurns
from stretto.control.queues.round_robin import QueueTurns
from stretto.state.queues.usage import QueueUsage
from stretto.state.rows.lifecycle import UnitEvent, UnitState
from stretto.state.work.changes import QueueChange
from stretto.state.work.units import Unit


class QueueChanges:
    """The settings of all queues, by name; applies them to the unit states."""

    def __init__(self, moves: UnitMoves) -> None:
        """Start with the configured queues."""
        self._moves = moves
        self._places = moves.states
        self._configs: dict[str, QueueConfig] = {q.name: q for q in moves.states.config.queues}

    def change(self, changes: Iterable[QueueChange], now: float) -> None:
        """Apply changes of Queue objects."""
        for name, queue in changes:
            if queue is None:
                self._delete(name)
                continue
            self._places.queue_faults.pop(name, None)
            try:
                self._configs[name] = queue_config(queue)
            except InputError as error:
                self._places.queue_faults[name] = str(error)
                others = self._places.config.other_queues
                self._configs.setdefault(
                    name, replace(others, name=name)
                )  # listed, so that its fault is reported
        drained = [name for name, each in self._configs.items() if each.draining]
        for name in drained:
            if not self._is_used(name):
                del self._configs[name]
        self._arrange(now)

    def _delete(self, name: str) -> None:
        self._places.queue_faults.pop(name, None)
        config = self._configs.get(name)
        if config is not None:
            self._configs[name] = QueueConfig(
                name,
                config.policy,
                parent=config.parent,
                limit=config.limit,
                max_running_units=config.max_running_units,
                draining=True,
            )

    def _is_used(self, name: str) -> bool:
        """True if any unit or child queue belongs to a queue, or any pod is charged to it."""
        usage = self._places.usage
        if usage is not None and usage.tree.runs_any(name):
            return True
        if any(each.parent == name for each in self._configs.values()):
            return True
        return any(unit.queue == name for unit in self._places.units)

    def _arrange(self, now: float) -> None:
        """Update everything that depends on the queues."""
        places = self._places
        places.config = config = places.config.having(self._configs.values())
        if config.counts_usage and places.usage is None:
            places.usage = self._begin_counting(now)
        turns: QueueTurns = places.queues.turns
        if isinstance(turns, TreeTurns) and config.has_tree and places.usage is not None:
            places.usage.tree.arrange(config.queues, config.between, config.resource)
        else:
            turns = connected_turns(config, places.usage, places.unschedulable)
        for unit in places.queues.settle(config, turns):
            self._try_again(unit)
        self._count_in_flight()

    def _begin_counting(self, now: float) -> QueueUsage:
        """Start to count usage."""
        places = self._places
        usage = QueueUsage(places.pods, places.units, places.need_pool())
        places.uncounted = True
        usage.look(range(len(places.units.by_row)), now)
        for unit in places.units:
            if unit.away:
                usage.promise(unit)
        return usage

    def _try_again(self, unit: Unit) -> None:
        """Retry a failed head of a queue whose order has changed."""
        places = self._places
        if unit.state is UnitState.UNSCHEDULABLE:
            self._moves.enter_queue(unit, UnitEvent.WAKE)
        elif unit.state is UnitState.BACKOFF:
            unit.rank = places.queues.get(unit.queue).order.rank(unit)
            places.queues.block(unit)

    def _count_in_flight(self) -> None:
        """Recount units at shards in the new order of their queues."""
        queues = self._places.queues
        for queue in queues:
            queue.away = 0
        for unit in self._places.units:
            if unit.state is UnitState.DISPATCHED:
                queue = queues.get(unit.queue)
                queue.away += queue.blocking
                unit.rank = queue.order.rank(unit)
