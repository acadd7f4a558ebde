"""The sentence of a FailedScheduling event, as kube-scheduler writes it."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from stretto.framework.model.status import PluginStatus

NO_NODES: Final = "no nodes available to schedule pods"
"""What is said without a single node."""


def fit_error(
    count: int, statuses: Iterable[tuple[PluginStatus, int]], absent: PluginStatus
) -> str:
    """Reasons counted over nodes; nodes without a status of their own get ``absent``."""
    reasons: Counter[str] = Counter()
    told = 0
    for status, nodes in statuses:
        told += nodes
        for reason in status.reasons:
            reasons[reason] += nodes
    if told < count:
        for reason in absent.reasons:
            reasons[reason] += count - told
    entries = sorted(f"{times} {reason}" for reason, times in reasons.items())
    listed = f" {', '.join(entries)}." if entries else ""
    return f"{head(count)}{listed}"


def head(count: int) -> str:
    """How every such sentence begins."""
    return f"0/{count} nodes are available:"


def with_preemption(sentence: str, said: str) -> str:
    """The sentence with what preemption said after it."""
    return f"{sentence} {said}" if said else sentence
