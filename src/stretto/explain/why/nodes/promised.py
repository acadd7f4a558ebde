"""Overcommit in explanations: the ratio of full nodes for a resource, and its bound."""

from collections import Counter

from stretto.explain.words.amounts import short_of
from stretto.framework.contract.requests import scaled_requests
from stretto.framework.contract.rule import BoolArray, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.promises import NodeRatio, RatioBound


def shortage_on(view: View, slot: int, resource: str, amounts: tuple[int, int]) -> str:
    """Describe the shortage of a resource on a node, with the overcommit ratio of the node."""
    ledger = view.columns.ledger
    column = ledger.resources.known(resource)
    ratio = None if column is None else ledger.promises.ratios.get(slot, {}).get(column)
    text = short_of(resource, *amounts)
    return text if ratio is None else f"{text}, promised {_times(ratio)}"


def promised_sentence(pod: PodClass, view: View, slots: SlotArray, nodes: BoolArray) -> str:
    """Sentence about the resources that overcommitted nodes lack; empty for no such node."""
    ledger, columns, found = view.columns.ledger, view.columns, []
    for column, amount in sorted(scaled_requests(pod, view).items()):
        short = slots[nodes & (columns.free[column, slots] < amount)].tolist()
        ratios = [ledger.promises.ratios.get(slot, {}).get(column) for slot in short]
        counted = Counter(ratio for ratio in ratios if ratio is not None)
        if counted:
            ratio, _ = counted.most_common(1)[0]
            found.append(f"{ledger.resources.names[column]} is promised {_times(ratio)}")
    return f" There {' and '.join(found)}." if found else ""


def _times(ratio: NodeRatio) -> str:
    """The ratio as text: ``2 times, bounded by its measured load (cap 3)``."""
    cap = "" if ratio.bound is RatioBound.CAP else f" (cap {ratio.cap:g})"
    times = "once" if ratio.ratio == 1 else f"{ratio.ratio:g} times"
    return f"{times}, bounded by {ratio.bound.value}{cap}"
