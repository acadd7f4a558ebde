"""Reference of reclaim: rules of lawful decisions in plain sums, and all possible decisions."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple


class Pod(NamedTuple):
    """A running pod: row, node, queue, unit and CPU."""

    row: int
    slot: int
    queue: str
    unit: str
    cpu: int


class Scene(NamedTuple):
    """A tree of queues with guarantees, gangs, and nodes."""

    parents: Mapping[str, str]
    guarantees: Mapping[str, int]
    least: Mapping[str, int]
    sizes: Sequence[int]
    pods: Sequence[Pod]

    def used(self, queue: str, evicted: Iterable[int] = ()) -> int:
        """Use of a queue and its descendants, without evicted pods."""
        evicted = set(evicted)
        return sum(
            pod.cpu
            for pod in self.pods
            if pod.row not in evicted and queue in self.above(pod.queue)
        )

    def above(self, queue: str) -> list[str]:
        """A queue and its ancestors, the root last."""
        found = [queue]
        while found[-1] != "root":
            found.append(self.parents[found[-1]])
        return found

    def guarantee(self, queue: str) -> int | None:
        """Guarantee of a queue: its own, or the sum of its children."""
        if queue in self.guarantees:
            return self.guarantees[queue]
        below = [self.guarantee(name) for name, parent in self.parents.items() if parent == queue]
        stated = [each for each in below if each is not None]
        return sum(stated) if stated else None

    def is_lawful(self, asker: str, cpu: int, evicted: Iterable[int]) -> bool:
        """Return whether evicting these pods for a queue is lawful.

        No queue falls below its guarantee, no gang below its minimum, and every victim is within
        the reach of the queue.
        """
        evicted = set(evicted)
        own, reach = self.above(asker), self.reach(asker, cpu)
        for pod in self.pods:
            if pod.row not in evicted:
                continue
            if reach is None or reach not in self.above(pod.queue) or pod.queue == asker:
                return False
            for queue in self.above(pod.queue):
                least = self.guarantee(queue)
                others = queue not in own and least is not None
                if others and self.used(queue, evicted) < least:
                    return False
        for unit, least in self.least.items():
            left = [pod for pod in self.pods if pod.unit == unit and pod.row not in evicted]
            lost = any(pod.unit == unit and pod.row in evicted for pod in self.pods)
            if lost and left and len(left) < least:
                return False
        return True

    def is_lawful_whole(self, asker: str, cpu: int, evicted: Iterable[int]) -> bool:
        """Return whether evicting these pods by unit is lawful, each from borrowing queues.

        A unit larger than what its queue has borrowed may take the queue below its guarantee.
        """
        evicted = set(evicted)
        reach = self.reach(asker, cpu)
        gone = [pod for pod in self.pods if pod.row in evicted]
        for pod in gone:
            if reach is None or reach not in self.above(pod.queue) or pod.queue == asker:
                return False
        for unit, least in self.least.items():
            left = [pod for pod in self.pods if pod.unit == unit and pod.row not in evicted]
            lost = any(pod.unit == unit for pod in gone)
            if lost and left and len(left) < least:
                return False
        return self._may_go_in_turn(asker, {pod.unit for pod in gone}, gone, frozenset())

    def _may_go_in_turn(
        self, asker: str, units: set[str], gone: Sequence[Pod], before: frozenset[int]
    ) -> bool:
        """Return whether some order of the units evicts each while its queues have borrowed."""
        if not units:
            return True
        for unit in units:
            part = [pod for pod in gone if pod.unit == unit]
            own = self.above(asker)
            above = [queue for pod in part for queue in self.above(pod.queue) if queue not in own]
            if all(self.used(queue, before) > (self.guarantee(queue) or 0) for queue in above):
                rows = before.union(pod.row for pod in part)
                if self._may_go_in_turn(asker, units - {unit}, gone, rows):
                    return True
        return False

    def reach(self, asker: str, cpu: int) -> str | None:
        """The highest queue to reclaim below; None if the guarantee is used."""
        found = None
        for queue in self.above(asker)[:-1]:
            least = self.guarantee(queue)
            if least is None or self.used(queue) + cpu > least:
                break
            found = self.parents[queue]
        return found

    def fits(self, slot: int, requests: Sequence[int], evicted: Iterable[int]) -> bool:
        """Return whether requests fit on a node without evicted pods."""
        evicted = set(evicted)
        used = sum(pod.cpu for pod in self.pods if pod.slot == slot and pod.row not in evicted)
        return used + sum(requests) <= self.sizes[slot]

    def protected(self, row: int, asker: str, evicted: Iterable[int]) -> bool:
        """Return whether a queue off the asker's path falls below its guarantee without a pod."""
        evicted, pod = {*evicted, row}, next(pod for pod in self.pods if pod.row == row)
        return any(
            self.used(queue, evicted) < (self.guarantee(queue) or 0)
            for queue in self.above(pod.queue)
            if queue not in self.above(asker)
        )

    def victims_on(self, slot: int, asker: str, cpu: int, lower: Iterable[int]) -> list[int] | None:
        """kube-scheduler's victims on a node among the unprotected rows; ``None`` for no fit.

        ``lower`` are the rows of lower priority, the least important first.
        """
        gone: list[int] = []
        for row in lower:
            if not self.protected(row, asker, gone):
                gone.append(row)
        if not self.fits(slot, [cpu], gone):
            return None
        for row in reversed(gone[:]):
            rest = [each for each in gone if each != row]
            if self.fits(slot, [cpu], rest):
                gone = rest
        return gone

    def answers(self, asker: str, cpu: int) -> list[frozenset[int]]:
        """All permitted sets of rows whose eviction makes one pod fit."""
        rows = [pod.row for pod in self.pods]
        return [
            frozenset(evicted)
            for size in range(1, len(rows) + 1)
            for evicted in combinations(rows, size)
            if self.is_lawful(asker, cpu, evicted)
            and any(self.fits(slot, [cpu], evicted) for slot in range(len(self.sizes)))
        ]
