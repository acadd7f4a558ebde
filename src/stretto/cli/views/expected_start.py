"""The expected start of a pending pod: the answer of ``explain --when`` and of the dashboard."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from stretto.cli.console import Console
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.plane.copy import StoreState


class StartEstimate(NamedTuple):
    """Expected start of a pending pod."""

    #: Seconds until its unit starts; ``None`` if the unit does not start, or if it is unknown.
    start_s: float | None
    #: Seconds until its unit times out; ``None`` if it does not time out.
    timeout_s: float | None
    #: The estimate as a sentence; empty for a pod that is not pending.
    sentence: str


_NOT_PENDING = StartEstimate(None, None, "")


def estimate_start(pod: str, state: "StoreState", plugins: tuple[Path, ...] = ()) -> StartEstimate:
    """Estimate when a pending pod starts: the scheduler runs on a copy as pods end.

    Args:
        pod: name of the pod, or ``namespace/name``.
        state: the state.
        plugins: files with the rules of the profile.
    """
    from stretto.plane.copy import PlaneCopy, SchedulingRules
    from stretto.sim.history.forecast import forecast

    copy = PlaneCopy(state, SchedulingRules(state.profile, "numpy", plugins=plugins))
    copy.settle(longest_delay=0.0)
    copy.backdate_groups()
    pods = copy.plane.cluster.pods
    namespace, _, name = pod.rpartition("/")
    key = f"{namespace or 'default'}/{name}"
    row = next((row for row in pods.rows().tolist() if pods.key(row) == key), None)
    unit = None if row is None else copy.plane.units.of_row(row)
    if row is None or pods.slot[row] >= 0 or unit is None:
        return _NOT_PENDING
    starts = forecast(copy.plane, units=[unit.key])
    start, timeout = starts.after_s[unit.key], starts.late_s.get(unit.key)
    if isfinite(start):
        text = f"Expected to start in {start:,.0f} s if no new pods arrive."
        return StartEstimate(start, None, text)
    if timeout is not None:
        return StartEstimate(None, timeout, _timeout(timeout, unit.size - unit.min_member))
    text = "No estimate: no running pod with a known run time would free enough capacity."
    return StartEstimate(None, None, text)


def show_expected_start(
    console: Console, pod: str, state: "StoreState", plugins: tuple[Path, ...]
) -> dict[str, float | None]:
    """Estimate and write when a pending pod starts.

    Returns:
        seconds until its unit starts or times out; ``None`` without an estimate.
    """
    found = estimate_start(pod, state, plugins)
    if found.sentence:
        console.data(f"\n{found.sentence}")
    return {"expected_start_s": found.start_s, "expected_timeout_s": found.timeout_s}


def _timeout(seconds: float, spare: int) -> str:
    """Return why a gang never starts, and the change that helps."""
    lacks = f"lacks {format_count(-spare, 'pod')}" if spare < 0 else "does not fit"
    if seconds <= 0:
        return (
            "Never starts: its PodGroup has timed out (spec.scheduleTimeoutSeconds). "
            "Recreate the PodGroup to retry."
        )
    return (
        f"Never starts: it still {lacks} when its PodGroup times out, in {seconds:,.0f} s "
        "(raise spec.scheduleTimeoutSeconds to extend the time-out)."
    )
