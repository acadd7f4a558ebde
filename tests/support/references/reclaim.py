"""What every decision of reclaim must keep, in plain sums, and all that might be decided."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple


class Pod(NamedTuple):
    """A running pod: its row, node, queue, unit and what it takes."""

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

    def used(self, queue: str, gone: Iterable[int] = ()) -> int:
        """What a queue holds with all below it, without those that are gone."""
        gone = set(gone)
        return sum(
            pod.cpu for pod in self.pods if pod.row not in gone and queue in self.above(pod.queue)
        )

    def above(self, queue: str) -> list[str]:
        """A queue and all that it is part of, the root last."""
        found = [queue]
        while found[-1] != "root":
            found.append(self.parents[found[-1]])
        return found

    def guarantee(self, queue: str) -> int | None:
        """What a queue is guaranteed; what it says, else what its queues are guaranteed."""
        if queue in self.guarantees:
            return self.guarantees[queue]
        below = [self.guarantee(name) for name, parent in self.parents.items() if parent == queue]
        stated = [each for each in below if each is not None]
        return sum(stated) if stated else None

    def is_lawful(self, asker: str, cpu: int, gone: Iterable[int]) -> bool:
        """Whether these may go for so much in a queue: nobody falls under a guarantee, no gang
        under its minimum, and everybody is within the asker's reach."""
        gone = set(gone)
        own, reach = self.above(asker), self.reach(asker, cpu)
        for pod in self.pods:
            if pod.row not in gone:
                continue
            if reach is None or reach not in self.above(pod.queue) or pod.queue == asker:
                return False
            for queue in self.above(pod.queue):
                least = self.guarantee(queue)
                others = queue not in own and least is not None
                if others and self.used(queue, gone) < least:
                    return False
        for unit, least in self.least.items():
            left = [pod for pod in self.pods if pod.unit == unit and pod.row not in gone]
            lost = any(pod.unit == unit and pod.row in gone for pod in self.pods)
            if lost and left and len(left) < least:
                return False
        return True

    def reach(self, asker: str, cpu: int) -> str | None:
        """The highest queue below which the asker may take; none where its guarantee is used."""
        found = None
        for queue in self.above(asker)[:-1]:
            least = self.guarantee(queue)
            if least is None or self.used(queue) + cpu > least:
                break
            found = self.parents[queue]
        return found

    def fits(self, slot: int, asks: Sequence[int], gone: Iterable[int]) -> bool:
        """Whether so much fits a node without those that are gone."""
        gone = set(gone)
        used = sum(pod.cpu for pod in self.pods if pod.slot == slot and pod.row not in gone)
        return used + sum(asks) <= self.sizes[slot]

    def answers(self, asker: str, cpu: int) -> list[frozenset[int]]:
        """Every lawful set of rows whose going lets one pod in."""
        rows = [pod.row for pod in self.pods]
        return [
            frozenset(gone)
            for size in range(1, len(rows) + 1)
            for gone in combinations(rows, size)
            if self.is_lawful(asker, cpu, gone)
            and any(self.fits(slot, [cpu], gone) for slot in range(len(self.sizes)))
        ]
