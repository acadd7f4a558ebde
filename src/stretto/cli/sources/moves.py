"""Plans of moves on a copy of a state."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stretto.control.controllers.move_plan import DefragPlan
    from stretto.plane.copy import StoreState
    from stretto.state.work.rescheduling import ReschedulingGoal


def planned_moves(
    state: "StoreState", goal: "ReschedulingGoal", budget: int, tier: str
) -> "DefragPlan":
    """Plan at most ``budget`` moves that free whole GPUs or nodes."""
    from stretto.control.controllers.packing import PackingPlanner
    from stretto.plane.copy import PlaneCopy

    copy = PlaneCopy(state)
    copy.settle()
    plane = copy.plane
    planner = PackingPlanner(
        plane.cluster, plane.units, copy.store, plane.budgets, plane.is_protected
    )
    return planner.plan(goal, budget, tier)
