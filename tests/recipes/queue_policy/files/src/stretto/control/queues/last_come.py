"""Last come, first served."""

from stretto.state.work.units import Unit


def last_come(unit: Unit) -> int:
    """Rank by arrival, the latest first."""
    return -unit.sequence
