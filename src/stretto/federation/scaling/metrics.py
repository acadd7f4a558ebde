"""Usage of the pods of all members, from the metrics.k8s.io of each member.

No member delays the others: a member that does not answer has no metrics, and its pods count as
pods without metrics, for which an autoscaler is conservative in both directions.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final

import msgspec

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.base.clock import Clock
from stretto.base.errors import StrettoError
from stretto.federation.connection.protocol import MemberConnection
from stretto.federation.scaling.pods import FleetPods, pod_name
from stretto.reconcile.reconciler import RetryError

_LOG: Final = logging.getLogger(__name__)

FRESH_S: Final = 10.0
"""Seconds for which an answer is used; autoscalers are evaluated every 15 seconds."""
WITHIN_S: Final = 5.0
"""Seconds after which a member without an answer has no metrics."""
AGAIN_S: Final = 0.25
"""Seconds until an evaluation checks for the answers again."""
_NOTHING: Final[Sequence[PodMetrics]] = ()


@dataclass(frozen=True, slots=True)
class _Question:
    """A request to a member."""

    #: Monotonic time of the request.
    since: float
    #: The future answer.
    answer: "Future[Sequence[PodMetrics]]"


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
        self._clock = clock
        self._questions: dict[tuple[str, str], _Question] = {}

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
        now, key = self._clock.monotonic(), (cluster, namespace)
        question = self._questions.get(key)
        if question is None or now - question.since > FRESH_S:
            connection = self._connection(cluster)
            if connection is None:
                return _NOTHING
            question = self._questions[key] = _Question(now, connection.usage(namespace))
        if not question.answer.done():
            return None if now - question.since < WITHIN_S else _NOTHING
        try:
            return question.answer.result()
        except StrettoError as error:
            _LOG.info("cluster %s has no metrics of pods: %s", cluster, error)
            return _NOTHING


def _named(cluster: str, found: PodMetrics) -> PodMetrics:
    metadata = msgspec.structs.replace(found.metadata, name=pod_name(cluster, found.metadata.name))
    return msgspec.structs.replace(found, metadata=metadata)
