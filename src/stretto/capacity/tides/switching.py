"""Selects the nodes of a tidal pool that switch: by need, after a trial, within a budget.

A node becomes online if the scheduler then places pending online pods on it. It becomes offline
after it has had no online pod for some time. Online pods are never evicted, so two pods do not
evict each other in turn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PodName = tuple[str, str]
"""Namespace and name of a pod."""
Placements = Mapping[PodName, str]
"""Pods that were pending, with the nodes on which a trial places them."""
MOST_TRIALS: Final = 64
"""Maximum number of trials of one decision; a larger choice of nodes is not reduced."""


@dataclass(frozen=True)
class Candidate:
    """An offline node that may become online."""

    #: Name of the node.
    node: str
    #: Offline pods that the switch would evict.
    victims: tuple[PodName, ...] = ()
    #: Highest priority of a victim; ``None`` without victims.
    priority: int | None = None
    #: Milli-CPU that the victims request: the sort key of candidates.
    cost: int = 0


Trial = Callable[[Sequence[Candidate]], Placements]
"""Returns the nodes of pending pods after these candidates are online."""


@dataclass(frozen=True)
class SwitchChoice:
    """A node that becomes online, and the reason."""

    #: The node with its victims.
    candidate: Candidate
    #: Online pods that the trial places on it.
    beneficiaries: tuple[PodName, ...]


def choose_online(
    candidates: Sequence[Candidate], pending: Mapping[PodName, int], trial: Trial, most: int
) -> list[SwitchChoice]:
    """Select the offline nodes that become online for pending online pods.

    These are the cheapest candidates that place as many pods as all candidates do. Then each
    candidate that is not required is removed, the most expensive first.

    Args:
        candidates: nodes that may become online.
        pending: priority of each pending online pod.
        trial: the scheduler on a copy of the state.
        most: maximum number of nodes that may begin to switch now.
    """
    if most < 1 or not candidates:
        return []
    waiting = pending.keys() - trial(()).keys()
    lowest = {name: pending[name] for name in waiting}
    ordered = sorted(
        (each for each in candidates if _may_evict(each, lowest)),
        key=lambda each: (each.cost, len(each.victims), each.node),
    )
    if not waiting or not ordered:
        return []
    best = _helped(trial(ordered), waiting)
    if not best:
        return []
    chosen = _fewest(_prefix(ordered, best, waiting, trial), best, waiting, trial)
    placed = trial(chosen)
    choices = [
        SwitchChoice(each, tuple(sorted(pod for pod in best if placed.get(pod) == each.node)))
        for each in chosen
    ]
    return [each for each in choices if each.beneficiaries and _outranks(each, pending)][:most]


def _prefix(
    ordered: list[Candidate], best: set[PodName], waiting: set[PodName], trial: Trial
) -> list[Candidate]:
    """Cheapest candidates that help all pods that can be helped."""
    count = 1
    while count < len(ordered):
        if _helped(trial(ordered[:count]), waiting) >= best:
            return ordered[:count]
        count *= 2
    return ordered


def _fewest(
    enough: list[Candidate], best: set[PodName], waiting: set[PodName], trial: Trial
) -> list[Candidate]:
    """Candidates that still help the same pods, without those that are not required."""
    placed = trial(enough)
    used = {placed[pod] for pod in best}
    needed = [each for each in enough if each.node in used]
    for each in reversed(needed[-MOST_TRIALS:]):
        fewer = [other for other in needed if other is not each]
        if fewer and _helped(trial(fewer), waiting) >= best:
            needed = fewer
    return needed


def _helped(placed: Placements, waiting: set[PodName]) -> set[PodName]:
    return placed.keys() & waiting


def _may_evict(candidate: Candidate, waiting: Mapping[PodName, int]) -> bool:
    """Return whether some pending pod may evict all victims."""
    top = max(waiting.values(), default=None)
    return top is not None and (candidate.priority is None or candidate.priority <= top)


def _outranks(choice: SwitchChoice, pending: Mapping[PodName, int]) -> bool:
    """Return whether no victim has a higher priority than a pod for which it is evicted."""
    highest = choice.candidate.priority
    return highest is None or all(highest <= pending[pod] for pod in choice.beneficiaries)
