"""The message of a FailedScheduling event, in kube-scheduler's format."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from stretto.framework.model.status import PluginStatus

NO_NODES: Final = "no nodes available to schedule pods"
"""The message for a cluster without nodes."""


def fit_error(
    count: int, statuses: Iterable[tuple[PluginStatus, int]], absent: PluginStatus
) -> str:
    """Message with reasons counted over nodes; nodes without an own status get ``absent``."""
    reasons: Counter[str] = Counter()
    counted = 0
    for status, nodes in statuses:
        counted += nodes
        for reason in status.reasons:
            reasons[reason] += nodes
    if counted < count:
        for reason in absent.reasons:
            reasons[reason] += count - counted
    entries = sorted(f"{times} {reason}" for reason, times in reasons.items())
    listed = f" {', '.join(entries)}." if entries else ""
    return f"{head(count)}{listed}"


def head(count: int) -> str:
    """Beginning of every such message."""
    return f"0/{count} nodes are available:"


def with_preemption(sentence: str, outcome: str) -> str:
    """Append the message of preemption to a message."""
    return f"{sentence} {outcome}" if outcome else sentence
