"""Metrics of a loop of controllers."""

from collections.abc import Iterator

from stretto.explain.metrics.tally import MetricFamily, MetricKind, gauge
from stretto.reconcile.loop import ReconcileLoop


def loop_families(prefix: str, loop: ReconcileLoop, now: float) -> Iterator[MetricFamily]:
    """Metrics of the finished and the waiting reconciliations of a loop.

    Args:
        prefix: prefix of the names, with the underscore.
        loop: the loop.
        now: monotonic time in seconds.
    """
    yield MetricFamily(
        f"{prefix}reconciliations",
        MetricKind.COUNTER,
        "Reconciled keys, by controller and result.",
        ("controller", "result"),
        dict(loop.counts.items()),
    )
    yield MetricFamily(
        f"{prefix}reconcile_seconds",
        MetricKind.COUNTER,
        "Time spent in reconciliations, by controller.",
        ("controller",),
        {(name,): seconds for name, seconds in loop.seconds.items()},
    )
    yield gauge(
        f"{prefix}waiting_keys",
        "Keys that wait: now due, or later.",
        ("controller", "when"),
        _waiting(loop, now),
    )
    yield gauge(
        f"{prefix}failed_keys",
        "Keys whose last reconciliation failed.",
        ("controller",),
        {(name,): count for name, count in loop.failed().items()},
    )


def _waiting(loop: ReconcileLoop, now: float) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for name, (due, later) in loop.lengths(now).items():
        found[name, "due"], found[name, "later"] = due, later
    return found
