"""Fill clusters one after the other, each up to its capacity."""

from collections.abc import Sequence

from stretto.federation.planner.division.demand import DivisionDemand, DivisionPlan


def pack(demand: DivisionDemand) -> DivisionPlan:
    """Fill the clusters of ``demand`` in their order; weights are ignored.

    Minimums come first. With ``moves=0`` present replicas stay where they fit: only the difference
    to the total is started, in the first clusters, or stopped, in the last ones. With any other
    limit of moves all replicas are packed again. Replicas that fit nowhere stay pending in the
    first clusters that may run them.
    """
    fits = [each.fits() for each in demand.clusters]
    least = [min(each.minimum, fit) for each, fit in zip(demand.clusters, fits, strict=True)]
    start = _within(demand.replicas, least)
    if demand.moves == 0:
        present = [max(0, demand.current.get(each.name, 0)) for each in demand.clusters]
        start = [max(a, min(b, c)) for a, b, c in zip(start, present, fits, strict=True)]
        start = _shrunk(start, least, sum(start) - demand.replicas)
    placed = _filled(start, fits, demand.replicas - sum(start))
    most = [each.most() for each in demand.clusters]
    rest = demand.replicas - sum(placed)
    total = _filled(placed, most, rest)
    names = [each.name for each in demand.clusters]
    pending = {name: b - a for name, a, b in zip(names, placed, total, strict=True) if b > a}
    return DivisionPlan(
        dict(zip(names, placed, strict=True)), pending, {}, demand.replicas - sum(total)
    )


def _within(total: int, least: Sequence[int]) -> list[int]:
    """Minimums in order, limited by the total."""
    return _filled([0] * len(least), least, total)


def _filled(start: Sequence[int], most: Sequence[int], count: int) -> list[int]:
    """``start`` with ``count`` more, in order, each at most its bound."""
    found = list(start)
    for at, bound in enumerate(most):
        more = max(0, min(count, bound - found[at]))
        found[at] += more
        count -= more
    return found


def _shrunk(start: Sequence[int], least: Sequence[int], count: int) -> list[int]:
    """``start`` with ``count`` fewer: from the last clusters, above their minimums first."""
    found = list(start)
    for bounds in (least, [0] * len(found)):
        for at in reversed(range(len(found))):
            fewer = max(0, min(count, found[at] - bounds[at]))
            found[at] -= fewer
            count -= fewer
    return found
