"""Nodes that have been too loaded for long enough to act.

Source: Koordinator's ``descheduler/utils/anomaly``.
"""

from dataclasses import dataclass
from typing import Final

DEFAULT_TIMEOUT_S: Final = 60.0
"""Seconds in which a node acts, where none are given."""


@dataclass(frozen=True)
class AnomalyRule:
    """When a node acts."""

    #: Rounds in a row after which one more makes it act; 1 acts at once.
    abnormal: int = 1
    #: Normal rounds in a row after which one more ends it.
    normal: int = 0
    #: Seconds after which it ends; 0 for the default.
    timeout_s: float = 0.0


@dataclass
class AnomalyDetector:
    """The rounds of one node."""

    #: When it acts.
    rule: AnomalyRule
    #: Abnormal rounds in a row.
    abnormal: int = 0
    #: Normal rounds in a row.
    normal: int = 0
    #: Time until which it acts; ``None`` if it does not.
    until_s: float | None = None

    def mark_abnormal(self, now_s: float) -> bool:
        """Count a round in which the node is too loaded; return whether it acts."""
        self._expire(now_s)
        self.abnormal, self.normal = self.abnormal + 1, 0
        if self.until_s is None and self.abnormal > self.rule.abnormal:
            self.reset()
            self.until_s = now_s + (self.rule.timeout_s or DEFAULT_TIMEOUT_S)
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
