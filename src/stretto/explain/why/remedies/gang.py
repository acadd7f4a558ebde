"""Cures of a gang: more pods, a smaller minimum, and the capacity that all its members lack."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from stretto.explain.why.inquiry import Inquiry
from stretto.explain.why.remedies.capacity import capacity_on, only_full
from stretto.explain.why.remedies.remedy import CureKind, NodeAmount, Remedy
from stretto.explain.why.remedies.removal import Removal
from stretto.explain.why.scene import Scene
from stretto.explain.words.amounts import format_amount, format_count
from stretto.explain.words.standing import UnitFacts, joined
from stretto.framework.compiled.devices import fitting
from stretto.framework.contract.requests import devices_of, scaled_requests, wanted_of
from stretto.framework.contract.rule import BoolArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.devices import WHOLE

NODES: Final = 8
"""Number of nodes that a sentence names; ``amounts`` contains all of them."""


class _Total(NamedTuple):
    """Amount of one resource over several nodes."""

    #: The resource.
    resource: str
    #: Sum of the amounts.
    amount: int
    #: Nodes with their parts of the sum.
    parts: tuple[NodeAmount, ...]


class GangFit(NamedTuple):
    """Number of gang members that fit, and the cures found."""

    #: Number of members tried.
    tried: int
    #: Number of members that fit together now.
    fitting: int
    #: Rows of the members that do not fit.
    misfits: Sequence[int]
    #: True if the members fit together with the missing ones, assumed equal to the first.
    completes: bool
    #: Removal of gates after which the members fit, as a cure and as an event; empty if they do
    #: not.
    released: tuple[Remedy, Remedy] | None
    #: Number of members that would fit if every node were empty.
    if_empty: int
    #: True if that number is too small.
    too_big: bool
    #: bool[slot]: nodes of the domain in which most members fit.
    domain: BoolArray
    #: True if caps limit its pods by domain, so that amounts alone do not decide.
    are_capped: bool


def gang_cures(
    scene: Scene,
    unit: UnitFacts,
    view: View | None,
    fit: GangFit,
    removal: Callable[[], Removal],
) -> tuple[Remedy, ...]:
    """Cures of a gang: more pods, a smaller minimum, or free capacity.

    If inter-pod rules, NUMA nodes or kube-scheduler's own rules decide, amounts alone do not
    determine whether the gang fits. Then the cure names running pods whose removal starts it.

    Args:
        scene: the cluster and its rules.
        unit: the gang.
        view: a private view in which the members that fit are placed; its columns are changed.
            ``None`` under rules that place by pod: then no amounts are computed.
        fit: number of members that fit.
        removal: finds running pods whose removal starts the gang.
    """
    assert unit.min_member is not None
    found = list[Remedy]()
    absent = unit.min_member - unit.placed - unit.waiting
    if absent > 0 and any(each.limit or each.max_running for each in scene.queues):
        # a limit counts the gang only when it is complete
        if fit.released is not None:
            return fit.released[1:]
        more, verb = format_count(absent, "more pod"), "exists" if absent == 1 else "exist"
        return (Remedy(CureKind.EVENT, f"It is tried when {more} of its gang {verb}."),)
    if fit.released is not None:
        found.append(fit.released[0])
    if absent > 0 and fit.completes:
        sentence = f"Creating {format_count(absent, 'more pod')} of its gang would complete it."
        found.append(Remedy(CureKind.MEMBERS, sentence, amount=absent))
    fewer = unit.placed + fit.fitting
    if fit.fitting and fewer < unit.min_member:
        sentence = f"Setting minMember to {fewer} instead of {unit.min_member} would start it now."
        found.append(Remedy(CureKind.MIN_MEMBER, sentence, amount=fewer))
    lacking, bounded = unit.still_needed - fit.fitting, False
    if absent <= 0 and not fit.too_big and lacking > 0:
        missing = fit.misfits[:lacking]
        by_amounts = view is not None and not fit.are_capped
        cure = _capacity(scene, view, missing, fit.domain) if by_amounts and view else None
        if cure is None:
            cure, bounded = removal()
        found += [cure] if cure is not None else []
    together = f"{format_count(unit.still_needed, 'pod')} must fit at the same time."
    if bounded:
        together += " Pods whose removal starts it may exist: the search for them is bounded."
    if fit.too_big:
        more = format_count(unit.still_needed - fit.if_empty, "more pod")
        together = f"It fits the cluster after nodes for {more} of its gang are added."
    return (*found, Remedy(CureKind.EVENT, together))


def _capacity(scene: Scene, view: View, rows: Sequence[int], domain: BoolArray) -> Remedy | None:
    """Cure that frees capacity for all members that do not fit yet.

    Args:
        scene: the cluster and its rules.
        view: a private view in which the other members are placed; its columns are changed.
        rows: the members that lack a node and are needed.
        domain: bool[slot]: the nodes that the gang may use.

    Returns:
        ``None`` if more free capacity on existing nodes would not place them.
    """
    amounts: dict[tuple[str, str], int] = {}
    slots = scene.cluster.nodes.live_slots()
    slots, pods = slots[domain[slots]], scene.cluster.pods
    places: dict[tuple[int, int], _Places] = {}
    for row in rows:
        pod = scene.cluster.classes[int(pods.class_id[row])]
        if pod.terms.strict or pod.annotations.numa is not None:
            return None
        key = pod.id, row if pods.volumes[row] else -1
        if key not in places:
            places[key] = _Places(scene, Inquiry(scene.rules(row)[0], pod, view, slots), amounts)
        found = places[key].cheapest()
        if found is None:
            return None
        for each in found.missing:
            amount = each.resource, each.node
            amounts[amount] = amounts.get(amount, 0) + each.amount
        _charge(view, pod, found.slot)
        for others in places.values():
            others.charged(found.slot)
    parts = [NodeAmount(node, resource, n) for (resource, node), n in amounts.items()]
    if not parts or any(each.resource.endswith(" milli") for each in parts):
        return None
    sentence = f"{joined([*map(_text, _totals(parts))], 'and')} would let the whole gang start."
    return Remedy(CureKind.CAPACITY, f"Freeing {sentence}", amounts=tuple(parts))


class _Place(NamedTuple):
    """A node for a member."""

    #: Shortage relative to the requests.
    shortage: float
    #: Slot of the node.
    slot: int
    #: Amounts that running pods on the node must free.
    missing: tuple[NodeAmount, ...]


class _Places:
    """Nodes for the members of one class, the least shortage first.

    Nodes that got a member are evaluated again; all others only once.
    """

    def __init__(
        self, scene: Scene, inquiry: Inquiry, amounts: Mapping[tuple[str, str], int]
    ) -> None:
        """Evaluate every node; ``amounts`` are the amounts that running pods must free already."""
        self._scene, self._inquiry, self._amounts = scene, inquiry, amounts
        self._shortage = inquiry.shortage()
        usable = np.flatnonzero(only_full(inquiry) | inquiry.fits)
        order = usable[np.argsort(self._shortage[usable], kind="stable")]
        self._order, self._at = order.tolist(), 0
        self._charged: list[int] = []

    def charged(self, slot: int) -> None:
        """Evaluate a node again after it got a member."""
        if slot not in self._charged:
            self._charged.append(slot)

    def cheapest(self) -> _Place | None:
        """Node with the least shortage whose running pods use enough to cover it.

        ``None`` for none.
        """
        found = [each for each in (self._unchanged(), self._changed()) if each is not None]
        return min(found, default=None, key=lambda each: (each.shortage, each.slot))

    def _unchanged(self) -> _Place | None:
        """Best node without a new member."""
        while self._at < len(self._order):
            place = self._order[self._at]
            slot = int(self._inquiry.slots[place])
            if slot not in self._charged:
                found = self._checked(self._inquiry, place, float(self._shortage[place]))
                if found is not None:
                    return found
            self._at += 1
        return None

    def _changed(self) -> _Place | None:
        """Best node with a new member."""
        if not self._charged:
            return None
        before, slots = self._inquiry, np.array(sorted(self._charged), np.int64)
        now = Inquiry(before.rules, before.pod, before.view, slots)
        shortage, usable = now.shortage(), np.flatnonzero(only_full(now) | now.fits)
        for place in usable[np.argsort(shortage[usable], kind="stable")].tolist():
            found = self._checked(now, place, float(shortage[place]))
            if found is not None:
                return found
        return None

    def _checked(self, inquiry: Inquiry, place: int, shortage: float) -> _Place | None:
        """Return a node; ``None`` if its running pods use less than the shortage."""
        found = capacity_on(inquiry, place)
        missing, slot = found.amounts if found is not None else (), int(inquiry.slots[place])
        enough = all(
            self._amounts.get((each.resource, each.node), 0) + each.amount
            <= _held(self._scene, slot, each.resource)
            for each in missing
        )
        return _Place(shortage, slot, missing) if enough else None


def _held(scene: Scene, slot: int, resource: str) -> int:
    """Amount of a resource that running pods use on a node."""
    ledger = scene.cluster.ledger
    column = ledger.resources.known(resource)
    used = 0 if column is None else int(ledger.used[slot, column])
    if resource not in ledger.devices.inventory(slot):
        return used
    of_kind = ledger.devices.kind[slot] == ledger.devices.kind_number(resource)
    return used + int((of_kind & (ledger.devices.free[slot] < WHOLE)).sum())


def _totals(parts: Sequence[NodeAmount]) -> list[_Total]:
    found = []
    for resource in dict.fromkeys(each.resource for each in parts):
        mine = tuple(each for each in parts if each.resource == resource)
        found.append(_Total(resource, sum(each.amount for each in mine), mine))
    return found


def _text(total: _Total) -> str:
    amount = format_amount(total.resource, total.amount)
    if len(total.parts) == 1:
        return f"{amount} on {total.parts[0].node}"
    shown = total.parts if len(total.parts) <= NODES + 1 else total.parts[:NODES]
    shares = [f"{format_amount(each.resource, each.amount)} on {each.node}" for each in shown]
    more = len(total.parts) - len(shown)
    rest = [f"the rest on {more} more nodes"] if more else []
    return f"{amount} in all ({', '.join([*shares, *rest])})"


def _charge(view: View, pod: PodClass, slot: int) -> None:
    """Charge a member to a node; the capacity of the node grows by the shortage."""
    columns = view.columns
    for column, requested in scaled_requests(pod, view).items():
        columns.free[column, slot] = max(0, int(columns.free[column, slot]) - requested)
    here = np.array([slot], np.int64)
    for number, request in enumerate(pod.devices):
        usable = np.flatnonzero(fitting(devices_of(view, here), wanted_of(pod, view, number))[0])
        for device in usable[: request.count].tolist():
            columns.device_free[slot, device] -= request.milli
