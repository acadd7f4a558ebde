"""Borg's reservation: the reserved amount of a pod, between its request and its use.

A new pod keeps its whole request. After 300 s, the reservation decays slowly to the use plus a
safety margin. It grows immediately if the use exceeds it. Source: Verma et al. 2015, section 5.5;
the margin and the shape of the decay are not published.
"""

from math import exp, isfinite
from typing import NamedTuple


class ReservationRules(NamedTuple):
    """Parameters of reservations."""

    #: Fraction of the use that is added as a margin.
    margin: float = 0.15
    #: Seconds for which a pod keeps its whole request.
    start_s: float = 300.0
    #: Seconds in which a reservation decays to 37 % of its distance to the use.
    decay_s: float = 300.0


class PodUseNow(NamedTuple):
    """One resource of a pod at one time, in any unit."""

    #: Requested amount: Borg's limit.
    request: float
    #: Amount in use; ``None`` without a measurement.
    use: float | None
    #: Seconds since the pod was created.
    age_s: float


def next_reservation(
    before: float, now: PodUseNow, elapsed_s: float, rules: ReservationRules
) -> float:
    """Return the reservation after some time.

    Args:
        before: the previous reservation.
        now: request, use and age.
        elapsed_s: seconds since ``before``; negative values count as 0.
        rules: parameters.

    Returns:
        The whole request of a pod that is new or not measured; never less than the margin over the
        use, and never more than the request unless the use is above it.
    """
    use = now.use
    if use is None or not isfinite(use) or use < 0:
        return max(before, now.request) if use is None else now.request
    if now.age_s < rules.start_s:
        return max(now.request, use)
    target = max(min(use * (1 + rules.margin), now.request), use)
    if target >= before:
        return target
    return target + (before - target) * exp(-max(elapsed_s, 0.0) / rules.decay_s)
