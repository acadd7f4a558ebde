"""Exact search for nodes that fit a gang with members of different sizes.

Placing members one by one can fail although an assignment exists. The search tries assignments of
members to nodes by amounts and eligibility, with back-tracking and a limit on its steps.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

STEPS: Final = 1024
"""Upper bound of the steps of one search beyond the number of members."""
WORK: Final = 4_000_000
"""Upper bound of steps times nodes, so that a search over many nodes stays fast."""
_SKIP: Final = -1
"""Choice that leaves out the remaining members of a kind."""


class PackingProblem(NamedTuple):
    """Members by kind, and the nodes that they may use."""

    #: int64[node, column]: free amounts.
    free: npt.NDArray[np.int64]
    #: int64[kind, column]: amounts of one member.
    need: npt.NDArray[np.int64]
    #: bool[kind, node]: nodes that each kind may use.
    eligible: npt.NDArray[np.bool_]
    #: Number of members of each kind.
    counts: tuple[int, ...]


class Packing(NamedTuple):
    """Result of a search."""

    #: Nodes of the members, by kind; ``None`` if no assignment was found.
    nodes: tuple[tuple[int, ...], ...] | None
    #: True if the search ended before its limit: without nodes, no assignment exists.
    is_proven: bool


def pack(problem: PackingProblem, at_least: int, steps: int = STEPS) -> Packing:
    """Assign at least ``at_least`` members to nodes.

    All members get a node if ``at_least`` is their number.

    The search is complete: if it ends within its limit without an assignment, none exists. The
    limit is the number of members plus ``steps``, fewer with many nodes (``WORK``).

    Args:
        problem: kinds of members, and nodes.
        at_least: number of members that must have a node.
        steps: limit of steps beyond the number of members.
    """
    return _PackingSearch(problem, at_least).run(steps)


def without_spare(problem: PackingProblem) -> PackingProblem:
    """Return the problem with at most as many equal nodes as members.

    Further ones would stay empty.

    The nodes of an assignment are numbered from 0.
    """
    rows = np.concatenate([problem.free, problem.eligible.T], axis=1)
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, kind = np.unique(packed.ravel(), return_inverse=True)
    order = np.argsort(kind, kind="stable")
    first = np.searchsorted(kind[order], kind[order])
    keep = np.sort(order[np.arange(len(order)) - first < sum(problem.counts)])
    return problem._replace(free=problem.free[keep], eligible=problem.eligible[:, keep])


class _PackingSearch:
    """Depth-first search: the scarcest kinds first, the fullest nodes first.

    Members of one kind are interchangeable, so their nodes never decrease in the order of nodes.
    Nodes with equal free amounts and equal eligibility are interchangeable too.
    """

    def __init__(self, problem: PackingProblem, at_least: int) -> None:
        used = problem.need.any(axis=0)
        need, free = problem.need[:, used], problem.free[:, used]
        usable = np.flatnonzero(problem.eligible.any(axis=0))
        order = usable[np.argsort(_fullness(free[usable], need), kind="stable")]
        #: Node of each position in the search.
        self._nodes = order
        self._free = np.ascontiguousarray(free[order])
        counts = np.array(problem.counts, np.int64)
        kinds = sorted(
            range(len(counts)),
            key=lambda k: (-scarcity(need, self._free)[k], problem.eligible[k].sum(), k),
        )
        self._kinds = kinds
        self._need = need[kinds]
        self._eligible = problem.eligible[kinds][:, order]
        self._counts = counts[kinds].tolist()
        self._marks = np.packbits(self._eligible, axis=0).T
        self._spare = sum(problem.counts) - at_least
        self._taken: list[list[int]] = [[] for _ in kinds]

    def run(self, steps: int) -> Packing:
        """Search until an assignment is found, none is left, or the limit is reached."""
        members = sum(self._counts)
        left = members + min(steps, WORK // max(1, len(self._nodes)))
        if not self._can_finish(0):
            return Packing(None, True)
        path: list[tuple[int, Iterator[int]]] = [(0, self._choices(0))]
        made: list[int] = []
        while path:
            kind, choices = path[-1]
            if len(made) == len(path):
                self._undo(kind, made.pop())
            if left <= 0:
                return Packing(None, False)
            left -= 1
            choice = next(choices, None)
            if choice is None:
                path.pop()
                continue
            self._apply(kind, choice)
            made.append(choice)
            full = choice == _SKIP or len(self._taken[kind]) == self._counts[kind]
            following = kind + 1 if full else kind
            if following == len(self._counts):
                return Packing(self._answer(), True)
            if self._can_finish(following):
                path.append((following, self._choices(following)))
        return Packing(None, True)

    def _choices(self, kind: int) -> Iterator[int]:
        """Positions for the next member of a kind.

        The last choice leaves out the rest of the kind.
        """
        taken = self._taken[kind]
        first = taken[-1] if taken else 0
        fits = self._eligible[kind, first:] & (self._free[first:] >= self._need[kind]).all(axis=1)
        seen: set[bytes] = set()
        for position in (first + np.flatnonzero(fits)).tolist():
            alike = self._free[position].tobytes() + self._marks[position].tobytes()
            if alike not in seen:
                seen.add(alike)
                yield position
        if self._counts[kind] - len(taken) <= self._spare:
            yield _SKIP

    def _apply(self, kind: int, choice: int) -> None:
        if choice == _SKIP:
            self._spare -= self._counts[kind] - len(self._taken[kind])
            return
        self._free[choice] -= self._need[kind]
        self._taken[kind].append(choice)

    def _undo(self, kind: int, choice: int) -> None:
        if choice == _SKIP:
            self._spare += self._counts[kind] - len(self._taken[kind])
            return
        self._free[choice] += self._need[kind]
        self._taken[kind].pop()

    def _can_finish(self, kind: int) -> bool:
        """Return whether each remaining kind fits by itself, and all of them by their sums."""
        short = 0
        total = np.zeros(self._need.shape[1], np.int64)
        for k in range(kind, len(self._counts)):
            left = self._counts[k] - len(self._taken[k])
            need, here = self._need[k], self._eligible[k]
            needed = need > 0
            if not needed.any():
                fit = left if here.any() else 0
            else:
                each = (self._free[np.ix_(here, needed)] // need[needed]).min(axis=1, initial=left)
                fit = int(np.maximum(each, 0).sum())
            short += max(0, left - fit)
            total += need * left
        if short > self._spare:
            return False
        if self._spare:
            return True
        return bool((np.maximum(self._free, 0).sum(axis=0) >= total).all())

    def _answer(self) -> tuple[tuple[int, ...], ...]:
        found: list[tuple[int, ...]] = [()] * len(self._kinds)
        for kind, taken in zip(self._kinds, self._taken, strict=True):
            found[kind] = tuple(self._nodes[taken].tolist())
        return tuple(found)


def scarcity(need: npt.NDArray[np.int64], free: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """float64[kind]: the largest fraction of all free amounts that one member requests."""
    total = np.maximum(free, 0).sum(axis=0).astype(np.float64)
    share = np.where(need > 0, need / np.maximum(total, 1.0), 0.0)
    return np.asarray(share.max(axis=1, initial=0.0), np.float64)


def _fullness(free: npt.NDArray[np.int64], need: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """float64[node]: free amounts in members of average size.

    Nodes with a smaller value come first.
    """
    average = np.maximum(need.mean(axis=0), 1e-9) if len(need) else np.ones(free.shape[1])
    return np.asarray((free / average).sum(axis=1), np.float64)
