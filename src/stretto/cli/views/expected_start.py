"""The answer of ``explain --when``: the expected start of a pending pod."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from stretto.cli.console import Console
from stretto.explain.words.amounts import format_count

if TYPE_CHECKING:
    from stretto.plane.copy import StoreState


def show_expected_start(
    console: Console, pod: str, state: "StoreState", plugins: tuple[Path, ...]
) -> dict[str, float | None]:
    """Estimate and write when a pending pod starts.

    Returns:
        seconds until its unit starts or times out; ``None`` for what cannot be estimated.
    """
    from stretto.plane.copy import PlaneCopy, SchedulingRules
    from stretto.sim.history.forecast import forecast

    times: dict[str, float | None] = {"expected_start_s": None, "expected_timeout_s": None}
    copy = PlaneCopy(state, SchedulingRules(state.profile, "numpy", plugins=plugins))
    copy.settle(longest_delay=0.0)
    copy.backdate_groups()
    pods = copy.plane.cluster.pods
    namespace, _, name = pod.rpartition("/")
    key = f"{namespace or 'default'}/{name}"
    row = next((row for row in pods.rows().tolist() if pods.key(row) == key), None)
    unit = None if row is None else copy.plane.units.of_row(row)
    if row is None or pods.slot[row] >= 0 or unit is None:
        return times
    starts = forecast(copy.plane, units=[unit.key])
    start, timeout = starts.after_s[unit.key], starts.late_s.get(unit.key)
    if isfinite(start):
        times["expected_start_s"] = start
        console.data(f"\nExpected to start in {start:,.0f} s if no new pods arrive.")
    elif timeout is not None:
        times["expected_timeout_s"] = timeout
        console.data(f"\n{_timeout(timeout, unit.size - unit.min_member)}")
    else:
        console.data(
            "\nNo estimate: no running pod with a known run time would free enough capacity."
        )
    return times


def _timeout(seconds: float, spare: int) -> str:
    """Why a gang never starts, and how to change that."""
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
