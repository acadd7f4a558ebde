"""Metrics of a federation's controllers."""

from collections.abc import Iterator

from stretto.explain.metrics.tally import MetricFamily, MetricKind, gauge
from stretto.federation.assembly import Federation
from stretto.federation.fleet import is_joined, is_ready

_PREFIX = "stretto_federation_"


def families(federation: Federation, now: float) -> Iterator[MetricFamily]:
    """All metrics of this moment.

    Args:
        federation: the controllers.
        now: monotonic time in seconds.
    """
    loop = federation.loop
    yield MetricFamily(
        f"{_PREFIX}reconciliations",
        MetricKind.COUNTER,
        "Reconciled keys, by controller and result.",
        ("controller", "result"),
        dict(loop.counts.items()),
    )
    yield MetricFamily(
        f"{_PREFIX}reconcile_seconds",
        MetricKind.COUNTER,
        "Time spent in reconciliations, by controller.",
        ("controller",),
        {(name,): seconds for name, seconds in loop.seconds.items()},
    )
    yield gauge(
        f"{_PREFIX}waiting_keys",
        "Keys that wait: now due, or later.",
        ("controller", "when"),
        _waiting(federation, now),
    )
    yield gauge(
        f"{_PREFIX}failed_keys",
        "Keys whose last reconciliation failed.",
        ("controller",),
        {(name,): count for name, count in loop.failed().items()},
    )
    yield from _members(federation)


def _waiting(federation: Federation, now: float) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for name, (due, later) in federation.loop.lengths(now).items():
        found[name, "due"], found[name, "later"] = due, later
    return found


def _members(federation: Federation) -> Iterator[MetricFamily]:
    """What concerns single members."""
    clusters = list(federation.fleet.clusters)
    names = [each.record.name for each in clusters]
    states = {
        (each.record.name, state): float(holds(each))
        for each in clusters
        for state, holds in (("joined", is_joined), ("ready", is_ready))
    }
    yield gauge(f"{_PREFIX}clusters", "State of the clusters.", ("cluster", "state"), states)
    yield gauge(
        f"{_PREFIX}member_writes_in_flight",
        "Writes that a member has not answered yet.",
        ("cluster",),
        {(name,): federation.deliveries.in_flight(name) for name in names},
    )
    yield MetricFamily(
        f"{_PREFIX}member_writes",
        MetricKind.COUNTER,
        "Answered writes to members, by verb and outcome.",
        ("cluster", "verb", "outcome"),
        dict(federation.deliveries.answers.items()),
    )
