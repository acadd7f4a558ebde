"""Running pods whose removal starts a gang, whichever rules decide.

The search for victims runs as if any pod could be evicted for any other one. It knows every rule:
rules between pods, NUMA nodes, devices, volumes, and kube-scheduler's own rules. The result is then
played: without these pods, the attempts of a shard place the gang.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.explain.why.attempts import GangMembers, places_without
from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.explain.why.scene import Scene
from stretto.explain.words.standing import joined
from stretto.framework.placers import Finder, PlacerFactory
from stretto.framework.preemption.terms import AnyPodTerms
from stretto.state.queries.gang_attempts import orders_of_rows
from stretto.state.victims.budgets import BudgetLedger
from stretto.state.work.claims import NO_ROWS, Plan

BoolArray = npt.NDArray[np.bool_]

ORDERS: Final = 2
"""Orders of the members that are tried: each costs a search per member."""
DOMAINS: Final = 4
"""Domains that are tried."""
STEPS: Final = 8192
"""Upper bound of members times nodes of one search: each step examines the pods of a node.

A large gang is therefore searched on the nodes that lack least: 80 nodes for 100 members.
"""
BLOCK: Final = 64
"""Slots of a zone that follow each other."""
MOST: Final = 512
"""Pods that a cure removes at most."""
NAMED: Final = 3
"""Pods that a sentence names."""


def removal_for(scene: Scene, members: GangMembers) -> Remedy | None:
    """The pods whose removal starts a gang; ``None`` if no search finds them."""
    pods = scene.cluster.pods
    if scene.units is None and members.are_capped:
        return None  # a cap counts pods of the unit that are placed already
    found = _victims(scene, members)
    if not found or len(found) > MOST or not places_without(scene, members, found):
        return None
    names = tuple(sorted(pods.key(row) for row in found))
    shown = list(names[:NAMED]) if len(names) > NAMED + 1 else list(names)
    more = len(names) - len(shown)
    listed = joined([*shown, *([f"{more} more pods"] if more else [])], "and")
    return Remedy(CureKind.PODS, f"Removing {listed} would let the whole gang start.", pods=names)


def _victims(scene: Scene, members: GangMembers) -> list[int]:
    """Rows of the pods to remove; empty if the search finds no way."""
    cluster, factory = scene.cluster, PlacerFactory(scene.engine, "numpy", scene.units)
    placer = factory.new(Rng(0))
    placer.sync()
    unit = scene.units.of_row(members.rows[0]) if scene.units is not None else None
    terms = AnyPodTerms(cluster, () if unit is None else unit.bound)
    budgets = BudgetLedger(cluster)
    finder = factory.finder(placer, terms, budgets, ManualClock())
    for order in islice(orders_of_rows(cluster, members.rows), ORDERS):
        for domain in members.domains[:DOMAINS]:
            near = _nearest(scene, order[0], domain, STEPS // members.needed)
            found = _victims_inside(scene, finder, order, near, members.needed)
            if found:
                return found
    return []


def _nearest(scene: Scene, row: int, domain: BoolArray, most: int) -> BoolArray:
    """bool[slot]: the nodes of a domain that lack least for a pod, of many zones where equal."""
    cluster = scene.cluster
    slots = cluster.nodes.live_slots()
    slots = slots[domain[slots]]
    pod = cluster.classes[int(cluster.pods.class_id[row])]
    inquiry = Inquiry(scene.rules(row)[0], pod, scene.view(), slots)
    usable = np.flatnonzero(~inquiry.never)
    order = np.lexsort((slots[usable] % BLOCK, inquiry.shortage()[usable]))
    found = np.zeros_like(domain)
    found[slots[usable[order[:most]]]] = True
    return found


def _victims_inside(
    scene: Scene, finder: Finder, order: Sequence[int], nodes: BoolArray, needed: int
) -> list[int]:
    """Rows of the pods to remove from some nodes; empty if the search finds no way there."""
    unit = scene.units.of_row(order[0]) if scene.units is not None else None
    promised: list[int] = []
    none = np.zeros(0, np.int32)
    finder.begin(Plan(-1, NO_ROWS, NO_ROWS, none, NO_ROWS, NO_ROWS, none, [], []))
    mark, places, found = finder.mark(), 0, set[int]()
    finder.confine(nodes, needed)
    for at, row in enumerate(order):
        if places + len(order) - at < needed:
            break
        if unit is not None:
            finder.restrict_to(unit, row, nodes, promised)
        candidate = finder.find(row).candidate
        if candidate is not None:
            finder.take(row, candidate)
            promised.append(candidate.slot)
            found.update(candidate.evicted_pods)
            places += 1
        if places == needed:
            return sorted(found) if finder.stand(mark) else []
    return []
