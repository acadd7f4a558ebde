"""Detects nodes that were hot for long enough to be unloaded.

Source: Koordinator's ``descheduler/utils/anomaly``, and its use in ``low_node_load.go``.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from stretto.framework.profile.capacity.hot_nodes import AnomalyRule

NodeKey = tuple[int, int]
"""Slot of a node, and the generation of the slot."""


@dataclass
class AnomalyDetector:
    """The rounds of one node."""

    #: Conditions under which the node is abnormal.
    rule: AnomalyRule
    #: Number of consecutive hot rounds.
    abnormal: int = 0
    #: Number of consecutive normal rounds.
    normal: int = 0
    #: Time until which the node is abnormal; ``None`` if it is not.
    until_s: float | None = None

    def mark_abnormal(self, now_s: float) -> bool:
        """Count a round in which the node is hot; return whether it is abnormal."""
        self._expire(now_s)
        self.abnormal, self.normal = self.abnormal + 1, 0
        if self.until_s is None and self.abnormal > self.rule.abnormal:
            self.reset()
            self.until_s = now_s + self.rule.timeout_seconds
        return self.until_s is not None

    def mark_normal(self, now_s: float) -> None:
        """Count a round that ends normally."""
        self._expire(now_s)
        self.abnormal, self.normal = 0, self.normal + 1
        if self.until_s is not None and self.normal > self.rule.normal:
            self.reset()

    def reset(self) -> None:
        """Clear all rounds."""
        self.abnormal = self.normal = 0
        self.until_s = None

    def _expire(self, now_s: float) -> None:
        if self.until_s is not None and self.until_s < now_s:
            self.reset()


class AbnormalNodes:
    """The detectors of the nodes of a pool."""

    def __init__(self, rule: AnomalyRule) -> None:
        """Detect by these conditions."""
        self._rule = rule
        self._detectors: dict[NodeKey, AnomalyDetector] = {}

    def count(self, now_s: float, hot: Sequence[NodeKey], idle: Collection[NodeKey]) -> list[bool]:
        """Count a round; return for each hot node whether it is abnormal.

        An idle node is reset. For any other node that is not hot, the round is normal.
        """
        if self._rule.abnormal == 1:
            return [True] * len(hot)
        others = self._detectors.keys() - set(hot)
        for key in others:
            self._detectors[key].mark_normal(now_s)
            if key in idle or self._detectors[key].until_s is None:
                del self._detectors[key]
        for key in hot:
            self._detectors.setdefault(key, AnomalyDetector(self._rule))
        return [self._detectors[key].mark_abnormal(now_s) for key in hot]

    def reset(self, key: NodeKey) -> None:
        """Clear the rounds of a node."""
        self._detectors.pop(key, None)

    def end(self, now_s: float, unloaded: Sequence[NodeKey]) -> None:
        """Count the end of a round with moves from these nodes, which is one normal round."""
        for key in unloaded:
            if key in self._detectors:
                self._detectors[key].mark_normal(now_s)
