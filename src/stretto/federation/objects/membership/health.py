"""Damping of a member's health: equal answers change the conditions after some time."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from stretto.federation.connection.protocol import MemberAnswer
from stretto.federation.objects.membership.conditions import ConditionReason, ConditionType
from stretto.reconcile.cache import Fields
from stretto.reconcile.conditions import condition_of

_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class HealthTrend:
    """The answer in effect, and a different one that may replace it."""

    #: The answer that the conditions show; ``None`` before the first.
    shown: MemberAnswer | None
    #: The last answer, if it differs from the shown one.
    other: MemberAnswer | None = None
    #: Monotonic time in seconds of the first of the last equal answers.
    since: float = 0.0

    def with_answer(self, answer: MemberAnswer, now: float, threshold: float) -> "HealthTrend":
        """The trend after a further answer.

        Args:
            answer: the answer.
            now: monotonic time in seconds.
            threshold: seconds of equal answers before they take effect.
        """
        if self.shown in (None, answer):
            return HealthTrend(answer)
        since = self.since if self.other is answer else now
        if now - since + _ROUNDING >= threshold:
            return HealthTrend(answer)
        return HealthTrend(self.shown, answer, since)


def shown_answer(conditions: Iterable[Fields]) -> MemberAnswer | None:
    """The answer that the conditions of a cluster show; ``None`` before the first."""
    known = tuple(conditions)
    ready = condition_of(known, ConditionType.READY)
    if ready is None:
        return None
    offline = condition_of(known, ConditionType.OFFLINE) or {}
    if offline.get("status") == "True":
        return MemberAnswer.UNREACHABLE
    if ready.get("status") == "True":
        return MemberAnswer.HEALTHY
    refused = ready.get("reason") == ConditionReason.REFUSED
    return MemberAnswer.REFUSED if refused else MemberAnswer.UNHEALTHY
