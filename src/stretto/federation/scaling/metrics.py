"""Usage of the pods of all members, from the metrics.k8s.io of each member.

No member delays the others: a member that does not answer has no metrics, and its pods count as
pods without metrics, for which an autoscaler is conservative in both directions.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.federation.connection.protocol import MemberConnection
from stretto.federation.scaling.pods import FleetPods, pod_name
from stretto.reconcile.reconciler import RetryError
from stretto.reconcile.usage import AGAIN_S, Answer, UseRequests

_LOG: Final = logging.getLogger(__name__)

_NOTHING: Final[Sequence[PodMetrics]] = ()


class FleetMetrics:
    """Measures the pods of members."""

    def __init__(
        self,
        pods: FleetPods,
        connection: Callable[[str], MemberConnection | None],
        clock: Clock,
    ) -> None:
        """Start without metrics.

        Args:
            pods: the pods of members, which determine the clusters to query.
            connection: the connection to a cluster; ``None`` if it is not open.
            clock: monotonic time.
        """
        self._pods = pods
        self._connection = connection
        self._requests: UseRequests[tuple[str, str]] = UseRequests(self._request, clock)

    def pods(self, namespace: str) -> Sequence[PodMetrics]:
        """The metrics of the running pods of a namespace, named as ``FleetPods`` names them.

        Raises:
            RetryError: an answer is still missing.
        """
        answers = {name: self._answer(name, namespace) for name in self._pods.clusters(namespace)}
        if missing := [name for name, found in answers.items() if found is None]:
            raise RetryError(f"metrics of {', '.join(missing)} are not received yet", AGAIN_S)
        return [_named(cluster, each) for cluster, found in answers.items() for each in found or ()]

    def _answer(self, cluster: str, namespace: str) -> Sequence[PodMetrics] | None:
        """The metrics of one member; ``None`` until they are received."""
        if self._connection(cluster) is None:
            return _NOTHING
        try:
            return self._requests.answer((cluster, namespace))
        except StrettoError as error:
            _LOG.info("cluster %s has no metrics of pods: %s", cluster, error)
            return _NOTHING

    def _request(self, key: tuple[str, str]) -> Answer:
        """Send a request to a member with a connection."""
        cluster, namespace = key
        connection = self._connection(cluster)
        assert connection is not None
        return connection.usage(namespace)


def _named(cluster: str, found: PodMetrics) -> PodMetrics:
    metadata = msgspec.structs.replace(found.metadata, name=pod_name(cluster, found.metadata.name))
    return msgspec.structs.replace(found, metadata=metadata)
