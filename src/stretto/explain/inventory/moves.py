"""Plans of moves as rows of tables."""

from stretto.control.controllers.move_plan import DefragPlan


def capacity_rows(plan: DefragPlan) -> list[tuple[str, float, float]]:
    """Figures of the free capacity as rows: name, value before the moves, value after the moves."""
    before, after = plan.before, plan.after
    return [
        ("empty nodes", before.empty_nodes, after.empty_nodes),
        ("completely free GPUs", before.free_gpus, after.free_gpus),
        ("GPUs free in fragments (sum)", before.stranded_milli / 1000, after.stranded_milli / 1000),
        ("CPU requested on nodes in use %", before.cpu_in_use, after.cpu_in_use),
        ("memory requested on nodes in use %", before.memory_in_use, after.memory_in_use),
    ]
