"""Scales of workloads through the API: of every kind with the subresource, also of CRDs."""

from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.api.wire.kinds import Kind
from stretto.capacity.autoscaling.scales import NoScaleError, WorkloadScale
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient


class ApiScales:
    """Reads and writes scales as a client of the API."""

    def __init__(self, client: ApiClient) -> None:
        """For the workloads of a server."""
        self._client = client

    def read(self, namespace: str, target: ScaleTargetRef) -> WorkloadScale:
        """The scale of a workload.

        Raises:
            NoScaleError: it does not exist, or its kind has no scale.
        """
        try:
            found = self._client.scale(self._kind(target), namespace, target.name)
        except ApiError as error:
            raise NoScaleError(error.message) from error
        selector = found["status"].get("selector", "")
        return WorkloadScale(found["spec"].get("replicas", 0), selector)

    def write(self, namespace: str, target: ScaleTargetRef, replicas: int) -> None:
        """Scale a workload.

        Raises:
            NoScaleError: the change is refused.
        """
        try:
            self._client.rescale(self._kind(target), namespace, target.name, replicas)
        except ApiError as error:
            raise NoScaleError(error.message) from error

    def _kind(self, target: ScaleTargetRef) -> Kind:
        group, _, version = target.api_version.rpartition("/")
        found = self._client.kind(group, version, target.kind)
        if found is None:
            raise NoScaleError(f'no matches for kind "{target.kind}" in group "{group}"')
        return found
