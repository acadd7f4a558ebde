"""Running pods whose removal starts a gang, whichever rules decide.

The search for victims runs as if any pod could be evicted for any other one. It knows every rule:
rules between pods, NUMA nodes, devices, volumes, and kube-scheduler's own rules. The result is then
played: without these pods, the attempts of a shard place the gang.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.explain.why.attempts import GangMembers, places_without
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.why.scene import Scene
from stretto.explain.words.standing import joined
from stretto.framework.placers import Finder, PlacerFactory
from stretto.framework.preemption.terms import AnyPodTerms
from stretto.state.queries.gang_attempts import orders_of_rows
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import NO_ROWS, Plan

ORDERS: Final = 2
"""Orders of the members that are tried: each costs a search per member."""
DOMAINS: Final = 4
"""Domains that are tried."""
MOST: Final = 64
"""Pods that a cure removes at most."""
NAMED: Final = 3
"""Pods that a sentence names."""


def removal_for(scene: Scene, members: GangMembers) -> Remedy | None:
    """The pods whose removal starts a gang; ``None`` if no search finds them."""
    pods = scene.cluster.pods
    if members.are_capped or _has_caps(scene, members.rows):
        return None  # a cap by domain counts pods of the unit that are placed already
    found = _victims(scene, members)
    if not found or len(found) > MOST or not places_without(scene, members, found):
        return None
    names = tuple(sorted(pods.key(row) for row in found))
    shown = list(names[:NAMED]) if len(names) > NAMED + 1 else list(names)
    more = len(names) - len(shown)
    listed = joined([*shown, *([f"{more} more pods"] if more else [])], "and")
    return Remedy(CureKind.PODS, f"Removing {listed} would let the whole gang start.", pods=names)


def _has_caps(scene: Scene, rows: Sequence[int]) -> bool:
    """Whether any of these pods limits its application by domain."""
    class_ids = set(scene.cluster.pods.class_id[np.array(rows, np.int64)].tolist())
    return any(scene.cluster.classes[each].annotations.caps for each in class_ids)


def _victims(scene: Scene, members: GangMembers) -> list[int]:
    """Rows of the pods to remove; empty if the search finds no way."""
    cluster, factory = scene.cluster, PlacerFactory(scene.engine, "numpy")
    placer = factory.new(Rng(0))
    placer.sync()
    terms, budgets = AnyPodTerms(cluster), BudgetLedger(cluster)
    finder = factory.finder(placer, terms, budgets, ManualClock())
    for order in islice(orders_of_rows(cluster, members.rows), ORDERS):
        for domain in range(min(len(members.domains), DOMAINS)):
            found = _victims_inside(finder, members, order, domain)
            if found:
                return found
    return []


def _victims_inside(
    finder: Finder, members: GangMembers, order: Sequence[int], domain: int
) -> list[int]:
    """Rows of the pods to remove from one domain; empty if the search finds no way there."""
    none = np.zeros(0, np.int32)
    finder.begin(Plan(-1, NO_ROWS, NO_ROWS, none, NO_ROWS, NO_ROWS, none, [], []))
    mark, places, found = finder.mark(), 0, set[int]()
    finder.confine(members.domains[domain], members.needed)
    for row in order:
        candidate = finder.find(row).candidate
        if candidate is not None:
            finder.take(row, candidate)
            found.update(candidate.evicted_pods)
            places += 1
        if places == members.needed:
            return sorted(found) if finder.stand(mark) else []
    return []
