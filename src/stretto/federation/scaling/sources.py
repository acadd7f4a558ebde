"""The scale of workloads on the host, by the paths of their FederatedTypeConfig."""

from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.api.wire.selectors import selector_text
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.paths import field_at, with_field
from stretto.federation.types import FederatedType
from stretto.reconcile import writes
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.scales import NoScaleError, WorkloadScale


class SourceScales:
    """Reads and writes the replicas of sources, which the scheduler then divides."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the sources on the host of a fleet."""
        self._fleet = fleet

    def read(self, namespace: str, target: ScaleTargetRef) -> WorkloadScale:
        """The scale of a workload.

        Raises:
            NoScaleError: the workload does not exist, or its kind has no replicas.
        """
        type_, source = self._source(namespace, target)
        replicas = field_at(source.fields, type_.paths.replicas_spec)
        selector = field_at(source.fields, type_.paths.label_selector)
        text = selector_text(selector) if isinstance(selector, dict) else str(selector or "")
        return WorkloadScale(1 if replicas is None else int(replicas), text)

    def write(self, namespace: str, target: ScaleTargetRef, replicas: int) -> None:
        """Scale a workload.

        Raises:
            NoScaleError: the workload does not exist, or its kind has no replicas.
            RetryError: the host refuses the change.
        """
        type_, source = self._source(namespace, target)
        change = with_field({}, type_.paths.replicas_spec, replicas)
        writes.patch(self._fleet.host.store, source, change)

    def _source(self, namespace: str, target: ScaleTargetRef) -> tuple[FederatedType, StoredObject]:
        group = target.api_version.rpartition("/")[0]
        type_ = self._fleet.types.of(group, target.kind)
        if type_ is None or not type_.paths.replicas_spec:
            hint = "create its FederatedTypeConfig with pathDefinition.replicasSpec"
            raise NoScaleError(f"{target.kind} has no replicas in the federation: {hint}")
        source = self._fleet.sources(type_).get(namespace, target.name)
        if source is None:
            hint = "create it, or correct scaleTargetRef"
            raise NoScaleError(f"{target.kind} {namespace}/{target.name} does not exist: {hint}")
        return type_, source
