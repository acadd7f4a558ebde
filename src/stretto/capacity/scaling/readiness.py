"""Selection of the pods that count for a metric: a young pod uses more than it will later.

Source: Kubernetes' ``podautoscaler/replica_calculator.go`` (``groupPods``).
"""

from dataclasses import dataclass

from stretto.capacity.scaling.replicas import MetricPod


@dataclass(frozen=True)
class MetricSample:
    """A value of a pod."""

    #: Value in milli-units.
    value: int
    #: Seconds since it was measured.
    age_s: float = 0.0
    #: Seconds over which it was measured.
    window_s: float = 0.0


@dataclass(frozen=True)
class ScaledPod:
    """State of a pod, from its status."""

    #: Name.
    name: str
    #: Phase.
    phase: str
    #: True if the pod is being deleted.
    deleted: bool = False
    #: True if the pod is ready; ``None`` if its status does not contain this.
    ready: bool | None = None
    #: Seconds since its start; ``None`` before it.
    started_ago_s: float | None = None
    #: Seconds since it became ready or unready.
    transition_ago_s: float = 0.0


@dataclass(frozen=True)
class ReadinessPeriods:
    """Periods in which a young pod does not count."""

    #: Seconds after the start for which a pod's CPU counts only while the pod is ready.
    cpu_init_s: float = 300.0
    #: Seconds after the start within which a pod that is not ready has never been ready.
    readiness_delay_s: float = 30.0

    def state(
        self, pod: ScaledPod, sample: MetricSample | None, resource: str, request: int | None
    ) -> MetricPod:
        """Values of a pod for the calculation.

        Args:
            pod: the pod.
            sample: its value; ``None`` without one.
            resource: the resource that is measured; empty for other metrics.
            request: its request in milli-units; ``None`` if a container has none.
        """
        return MetricPod(
            pod.name,
            pod.deleted or pod.phase == "Failed",
            self._unready(pod, sample, resource),
            pod.phase == "Running" and bool(pod.ready),
            request,
        )

    def _unready(self, pod: ScaledPod, sample: MetricSample | None, resource: str) -> bool:
        """Return whether the value of a pod does not count."""
        if pod.phase == "Pending":
            return True
        if resource != "cpu" or sample is None:
            return False
        if pod.ready is None or pod.started_ago_s is None:
            return True
        if self.cpu_init_s > pod.started_ago_s:
            return not pod.ready or sample.age_s > pod.transition_ago_s - sample.window_s
        return not pod.ready and self.readiness_delay_s > pod.started_ago_s - pod.transition_ago_s
