"""Detects nodes that were overloaded for long enough to be unloaded.

Source: Koordinator's ``descheduler/utils/anomaly``.
"""

from dataclasses import dataclass
from typing import Final

DEFAULT_TIMEOUT_S: Final = 60.0
"""Default seconds for which a node stays in the abnormal state."""


@dataclass(frozen=True)
class AnomalyRule:
    """Conditions under which a node is abnormal."""

    #: Consecutive overloaded rounds after which one more makes the node abnormal; 1 needs no wait.
    abnormal: int = 1
    #: Consecutive normal rounds after which one more ends the abnormal state.
    normal: int = 0
    #: Seconds after which the abnormal state ends; 0 for the default.
    timeout_s: float = 0.0


@dataclass
class AnomalyDetector:
    """The rounds of one node."""

    #: Conditions under which the node is abnormal.
    rule: AnomalyRule
    #: Number of consecutive overloaded rounds.
    abnormal: int = 0
    #: Number of consecutive normal rounds.
    normal: int = 0
    #: Time until which the node is abnormal; ``None`` if it is not.
    until_s: float | None = None

    def mark_abnormal(self, now_s: float) -> bool:
        """Count a round in which the node is overloaded; return whether it is abnormal."""
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
