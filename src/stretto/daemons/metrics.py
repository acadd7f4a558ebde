"""Builds the metrics of a plane for a daemon or a run with ``--metrics``."""

from stretto.explain.metrics.gauges import WatchedPlane
from stretto.explain.metrics.metrics import Metrics
from stretto.plane.plane import Plane


def metrics_of(plane: Plane) -> Metrics:
    """Metrics that observe a plane from now on."""
    watched = WatchedPlane(
        plane.engine,
        plane.units,
        plane.dispatcher.views,
        plane.verdicts,
        plane.reporter,
        plane.rescheduler,
        plane.overcommit_eviction,
        plane.controllers.ratios.counts,
        lambda: plane.shards,
    )
    metrics = Metrics(watched, plane.clock)
    plane.observers.append(metrics.observe)
    plane.witnesses.append(metrics.witness)
    return metrics
