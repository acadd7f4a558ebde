"""Effects of an action, before it runs."""

from collections import Counter
from typing import NamedTuple

from stretto.api.codec import decode_as
from stretto.api.types.pod import Pod
from stretto.api.wire.kinds import POD
from stretto.explain.why.answers import Explanation
from stretto.explain.why.why import explain_pod
from stretto.explain.words.amounts import format_count
from stretto.state.victims.budgets import BudgetLedger
from stretto.stores.store import Record
from stretto.web.views.details import NodeDetails
from stretto.web.views.state import ViewedState


class Consequences(NamedTuple):
    """Effects of an action."""

    #: The action as a heading.
    title: str
    #: Its effects, as sentences.
    effects: tuple[str, ...]
    #: Reason of an expected refusal; empty if none is known.
    obstacle: str = ""


def eviction_effects(state: ViewedState, key: str) -> Consequences:
    """Return the effects of the eviction of a pod, ``namespace/name``.

    Raises:
        NotFoundError: no such pod.
    """
    state.complete()
    answer = explain_pod(state.scene, key)
    title = f"Evict {answer.pod}"
    if not answer.node:
        return Consequences(title, (), f"It has no node: it is {answer.state}.")
    amounts = ", ".join(each.text for each in answer.requests)
    effects = [
        f"It ends on {answer.node}, which then has {amounts} more free.",
        _successor(state, answer.pod),
        *_gang(answer),
    ]
    budgets, obstacle = _budgets(state, answer.pod)
    return Consequences(title, (*effects, *budgets), obstacle)


def cordon_effects(node: NodeDetails, *, cordoned: bool) -> Consequences:
    """Return the effects of cordoning or uncordoning a node."""
    name = node.row.name
    if not cordoned:
        return Consequences(
            f"Open {name} for new pods",
            (f"The scheduler places pods on {name} again.",),
        )
    stay = format_count(len(node.pods), "pod")
    fitting = node.overview.fitting if node.overview is not None else ()
    return Consequences(
        f"Close {name} for new pods",
        (
            f"The scheduler places no further pod on {name}.",
            f"{stay} on it {'stays' if len(node.pods) == 1 else 'stay'}; nothing is evicted.",
            *_elsewhere(len(fitting)),
        ),
    )


def _elsewhere(fitting: int) -> tuple[str, ...]:
    """Return the effect on the pending pods that fit on a node now."""
    if not fitting:
        return ()
    needs = "fits on it now and needs" if fitting == 1 else "fit on it now and need"
    return (f"{format_count(fitting, 'pending pod')} {needs} another node.",)


def drain_warnings(state: ViewedState, node: str) -> list[str]:
    """Return sentences about budgets that limit the drain of a node, and about pods that it ends.

    Raises:
        NotFoundError: no such node.
    """
    pods = state.scene.cluster.pods
    slot = state.scene.slot_of(node)
    rows = [row for row in pods.rows().tolist() if pods.slot[row] == slot]
    ledger = BudgetLedger(state.scene.cluster)
    ledger.sync()
    covered = Counter(number for row in rows for number in ledger.of_row(row))
    found = []
    for number, count in covered.items():
        budget, left = ledger.budgets[number], max(0, int(ledger.remaining[number]))
        if left < count:
            name = f"PodDisruptionBudget {budget.namespace}/{budget.name}"
            found.append(f"{name} covers {format_count(count, 'pod')} here and allows {left} now.")
    records = [each for each in state.records(POD) if each.node == node]
    bare = sum(decode_as(Pod, each.body).metadata.controller() is None for each in records)
    if bare:
        found.append(f"{format_count(bare, 'pod')} without a controller: nothing creates it again.")
    return found


def pod_record(state: ViewedState, key: str) -> Record | None:
    """Return the stored pod ``namespace/name``; ``None`` if it does not exist."""
    records = (each for each in state.records(POD) if f"{each.namespace}/{each.name}" == key)
    return next(records, None)


def _successor(state: ViewedState, key: str) -> str:
    """Return a sentence about the controller that creates the pod again."""
    record = pod_record(state, key)
    owner = decode_as(Pod, record.body).metadata.controller() if record is not None else None
    if owner is None:
        return "No controller owns it: nothing creates it again."
    return f"Its controller, {owner.kind} {owner.name}, creates another pod instead."


def _gang(answer: Explanation) -> list[str]:
    """Return sentences about the effects on the gang of a pod."""
    unit = answer.unit
    if unit is None or not unit.is_gang or unit.min_member is None:
        return []
    placed = format_count(unit.placed, "placed pod")
    return [f"Its gang has {placed} and needs {unit.min_member} to start."]


def _budgets(state: ViewedState, key: str) -> tuple[list[str], str]:
    """Return sentences about the budgets of a pod, and the reason if one allows no eviction."""
    ledger, row = BudgetLedger(state.scene.cluster), state.scene.row_of(key)
    ledger.sync()
    found, obstacle = [], ""
    for number in ledger.of_row(row):
        budget, left = ledger.budgets[number], int(ledger.remaining[number])
        name = f"PodDisruptionBudget {budget.namespace}/{budget.name}"
        found.append(f"{name} allows {format_count(max(0, left), 'further disruption')}.")
        if left < 1:
            obstacle = f"{name} allows no disruption now."
    return found or ["No PodDisruptionBudget covers it."], obstacle
