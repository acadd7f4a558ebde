"""Running pods whose removal starts a gang, under any rules.

The search for victims runs as if any pod could be evicted for any other one. It applies every rule:
inter-pod rules, NUMA nodes, devices, volumes, and kube-scheduler's own rules. The result is then
verified: without these pods, a shard's attempts place the gang.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

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
"""Number of orders of the members that are tried: each order costs one search per member."""
DOMAINS: Final = 4
"""Number of domains that are tried."""
STEPS: Final = 8192
"""Upper bound of members times nodes of one search: each step examines the pods of a node.

A large gang is therefore searched on the nodes that lack least: 80 nodes for 100 members. If they
do not suffice, each member is searched on as many nodes that no other member has.
"""
EXACT_STEPS: Final = 65_536
"""The same bound under kube-scheduler's own rules, which search all nodes for each member."""
BLOCK: Final = 64
"""Number of consecutive slots of one zone."""
MOST: Final = 512
"""Maximum number of pods that a cure removes."""
NAMED: Final = 3
"""Number of pods that a sentence names."""


class Removal(NamedTuple):
    """The result of a search for pods whose removal starts a gang."""

    #: Cure; ``None`` if the search finds none.
    cure: Remedy | None
    #: True if a solution may exist that the search does not examine.
    is_bounded: bool


def removal_for(scene: Scene, members: GangMembers) -> Removal:
    """Search for pods whose removal starts a gang."""
    if scene.units is None and members.are_capped:
        return Removal(None, True)  # a cap also counts pods of the unit that are already placed
    steps = members.needed * len(scene.cluster.nodes.live_slots())
    if scene.profile.exact and steps > EXACT_STEPS:
        return Removal(None, True)
    found = _victims(scene, members)
    if not found or len(found) > MOST:
        return Removal(None, len(found) > MOST or steps > STEPS)
    fits = places_without(scene, members, found)
    return Removal(_cure(scene, found) if fits else None, not fits)


def _cure(scene: Scene, found: Sequence[int]) -> Remedy:
    pods = scene.cluster.pods
    names = tuple(sorted(pods.key(row) for row in found))
    shown = list(names[:NAMED]) if len(names) > NAMED + 1 else list(names)
    more = len(names) - len(shown)
    listed = joined([*shown, *([f"{more} more pods"] if more else [])], "and")
    return Remedy(CureKind.PODS, f"Removing {listed} would let the whole gang start.", pods=names)


def _victims(scene: Scene, members: GangMembers) -> list[int]:
    """Rows of the pods to remove; empty if the search finds no solution."""
    cluster, factory = scene.cluster, PlacerFactory(scene.engine, "numpy", scene.units)
    placer = factory.new(Rng(0))
    placer.sync()
    unit = scene.units.of_row(members.rows[0]) if scene.units is not None else None
    terms = AnyPodTerms(cluster, () if unit is None else unit.bound)
    budgets = BudgetLedger(cluster)
    finder = factory.finder(placer, terms, budgets, ManualClock())
    for order in islice(orders_of_rows(cluster, members.rows), ORDERS):
        for domain in members.domains[:DOMAINS]:
            ranked, width = _ranked(scene, order[0], domain), max(STEPS // members.needed, 1)
            ways = (False, True) if width < len(ranked) and not scene.profile.exact else (False,)
            for moves in ways:
                nodes = _NodeWindow(cluster.nodes.size, ranked, width, moves)
                found = _victims_inside(scene, finder, order, nodes, members.needed)
                if found:
                    return found
    return []


class _NodeWindow:
    """Nodes on which members are searched: a fixed set, or nodes without a member."""

    def __init__(self, size: int, ranked: Sequence[int], width: int, moves: bool) -> None:
        """Begin with the first nodes of a ranking."""
        #: bool[slot]: the nodes.
        self.mask = np.zeros(size, np.bool_)
        self.mask[list(ranked[:width])] = True
        #: True if a node leaves the window when it gets a member.
        self.moves = moves
        self._next = iter(ranked[width:])

    def took(self, slot: int) -> None:
        """Record that a node gets a member."""
        if self.moves and self.mask[slot]:
            self.mask[slot] = False
            following = next(self._next, None)
            if following is not None:
                self.mask[following] = True


def _ranked(scene: Scene, row: int, domain: BoolArray) -> list[int]:
    """Nodes of a domain, ordered by their shortage for a pod; ties alternate between zones."""
    cluster = scene.cluster
    slots = cluster.nodes.live_slots()
    slots = slots[domain[slots]]
    pod = cluster.classes[int(cluster.pods.class_id[row])]
    inquiry = Inquiry(scene.rules(row)[0], pod, scene.view(), slots)
    usable = np.flatnonzero(~inquiry.never)
    order = np.lexsort((slots[usable] % BLOCK, inquiry.shortage()[usable]))
    return [int(slot) for slot in slots[usable[order]]]


def _victims_inside(
    scene: Scene, finder: Finder, order: Sequence[int], nodes: _NodeWindow, needed: int
) -> list[int]:
    """Rows of the pods to remove from some nodes; empty if the search finds no solution there."""
    unit = scene.units.of_row(order[0]) if scene.units is not None else None
    promised: list[int] = []
    none = np.zeros(0, np.int32)
    finder.begin(Plan(-1, NO_ROWS, NO_ROWS, none, NO_ROWS, NO_ROWS, none, [], []))
    mark, places, found = finder.mark(), 0, set[int]()
    finder.confine(nodes.mask, needed)
    for at, row in enumerate(order):
        if places + len(order) - at < needed:
            break
        if unit is not None:
            finder.restrict_to(unit, row, nodes.mask, promised)
        elif nodes.moves:
            finder.confine(nodes.mask, needed)
        candidate = finder.find(row).candidate
        if candidate is not None:
            finder.take(row, candidate)
            promised.append(candidate.slot)
            nodes.took(candidate.slot)
            found.update(candidate.evicted_pods)
            places += 1
        if places == needed and finder.stand(mark):
            return sorted(found)
        if places == needed:
            break
    finder.back_to(mark)  # the next attempt begins without the nominations of this one
    return []
