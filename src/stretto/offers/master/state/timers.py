"""Timers of a state machine that never reads a clock."""

import heapq
from collections.abc import Callable
from itertools import count

Action = Callable[[], None]
"""Function that runs when a timer is due."""


class Timers:
    """Pending actions, in the order of their times."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._actions: dict[int, Action] = {}
        self._numbers = count()

    def at(self, due: float, action: Action) -> int:
        """Run an action at a time; return a number for `cancel`."""
        number = next(self._numbers)
        self._actions[number] = action
        heapq.heappush(self._heap, (due, number))
        return number

    def cancel(self, number: int | None) -> None:
        """Cancel a timer if it is still pending."""
        if number is not None:
            self._actions.pop(number, None)

    @property
    def next_due(self) -> float | None:
        """Time of the next action; ``None`` if there is none."""
        while self._heap and self._heap[0][1] not in self._actions:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run(self, now: float) -> None:
        """Run the due actions; actions that they add wait for the next call."""
        due: list[int] = []
        while self._heap and self._heap[0][0] <= now:
            due.append(heapq.heappop(self._heap)[1])
        for number in due:
            action = self._actions.pop(number, None)
            if action is not None:
                action()
