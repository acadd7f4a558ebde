"""Scales of workloads through the API, for every kind with the subresource, including CRDs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import msgspec

from stretto.api.types.capacity.autoscaling import ScaleTargetRef
from stretto.reconcile.scales import NoScaleError, WorkloadScale
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError
from stretto.web.api.internal import ApiClient
from stretto.web.api.objects.changes import served
from stretto.web.api.subresources.scale.replicas import scale_of
from stretto.web.api.subresources.scale.storing import with_replicas


class ApiScales:
    """Reader and writer of scales as a client of the API."""

    def __init__(self, client: ApiClient) -> None:
        """Access the workloads of a server; the client's name is the field manager."""
        self._client = client
        self._state = client.state

    def read(self, namespace: str, target: ScaleTargetRef) -> WorkloadScale:
        """Return the scale of a workload.

        Raises:
            NoScaleError: the workload does not exist, or its kind has no scale.
        """
        with _failures():
            call = self._call(namespace, target)
            stored = self._state.storage.get(call.resource, namespace, target.name)
            purpose = (
                f"read {call.resource.kind.resource} {namespace} {target.name} {stored.version}"
            )
            found = self._client.writes.run(
                purpose, call, lambda call: scale_of(call, served(call, stored).item)
            )
        return WorkloadScale(found["spec"].get("replicas", 0), found["status"].get("selector", ""))

    def write(self, namespace: str, target: ScaleTargetRef, replicas: int) -> None:
        """Set the replicas of a workload.

        Raises:
            NoScaleError: the change is refused.
        """
        with _failures():
            call = self._call(namespace, target)
            stored = self._state.storage.get(call.resource, namespace, target.name)
            purpose = f"scale {call.resource.kind.resource} {namespace} {target.name} {replicas}"
            self._client.writes.run(
                purpose, call, lambda call: with_replicas(self._state, call, stored, replicas)
            )

    def _call(self, namespace: str, target: ScaleTargetRef) -> Call:
        """Return a call that changes the scale of a workload.

        Raises:
            NoScaleError: its kind is not served, or has no scale.
        """
        group, _, version = target.api_version.rpartition("/")
        resource = self._state.resources.of_kind(group, version, target.kind)
        if resource is None:
            raise NoScaleError(f'no matches for kind "{target.kind}" in group "{group}"')
        if resource.subresource("scale") is None:
            raise NoScaleError(f"{target.kind} has no subresource scale")
        call = self._client.call(resource, "update", namespace, target.name)
        route = msgspec.structs.replace(call.route, subresource="scale")
        return replace(call, route=route)


@contextmanager
def _failures() -> Iterator[None]:
    """Convert failures of the API to ``NoScaleError``."""
    try:
        yield
    except ApiError as error:
        raise NoScaleError(error.message) from error
