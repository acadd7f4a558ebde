"""Metrics of a federation's controllers."""

from collections.abc import Iterator

from stretto.daemons.controllers.metrics import loop_families
from stretto.explain.metrics.tally import MetricFamily, MetricKind, gauge
from stretto.federation.assembly import Federation
from stretto.federation.fleet import is_joined, is_ready
from stretto.reconcile.event_queue import EventResult

_PREFIX = "stretto_federation_"


def families(federation: Federation, now: float) -> Iterator[MetricFamily]:
    """All metrics at a moment.

    Args:
        federation: the controllers.
        now: monotonic time in seconds.
    """
    yield from loop_families(_PREFIX, federation.loop, now)
    yield from _members(federation)


def _members(federation: Federation) -> Iterator[MetricFamily]:
    """Metrics of single members."""
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
    yield MetricFamily(
        f"{_PREFIX}events",
        MetricKind.COUNTER,
        "Events about objects, by result.",
        ("result",),
        {(result.value,): float(federation.events.counts[result]) for result in EventResult},
    )
