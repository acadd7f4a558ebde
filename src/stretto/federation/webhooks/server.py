"""Calls of one webhook server about one workload.

A server that lists the payload version ``v1alpha1-batch`` receives all clusters in one call; others
receive one call for each cluster, in parallel.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from stretto.api.types.federation.objects import (
    SchedulerPluginWebhookConfiguration,
    WebhookConfigurationSpec,
)
from stretto.api.wire.durations import seconds_of
from stretto.base.errors import InputError
from stretto.federation.problems import SCHEDULED, ObjectCondition, ObjectProblemError
from stretto.federation.scheduling.profiles import webhook_name
from stretto.federation.webhooks.replies import (
    FilterBatchReply,
    FilterReply,
    ReplicasReply,
    ScoreBatchReply,
    ScoreReply,
    SelectReply,
)
from stretto.federation.webhooks.unit import WebhookSubject
from stretto.reconcile.cache import Fields, StoredObject
from stretto.stores.webhooks import WebhookAnswer, WebhookCall, WebhookClient

SINGLE: Final = "v1alpha1"
"""Payload version with one cluster in a call, as KubeAdmiral defines it."""
BATCH: Final = "v1alpha1-batch"
"""Payload version with all clusters in a call."""

_Reply = TypeVar(
    "_Reply",
    FilterReply,
    ScoreReply,
    FilterBatchReply,
    ScoreBatchReply,
    SelectReply,
    ReplicasReply,
)


class WebhookError(ObjectProblemError):
    """Error for a webhook that gave no usable answer."""

    def __init__(self, problem: str) -> None:
        """Initialize with a problem, which names the webhook."""
        text = f"{problem}; the last placement stays, and the decision is repeated"
        super().__init__(ObjectCondition(SCHEDULED, "WebhookFailed", text))
        #: The problem without the consequence.
        self.problem = problem


class WebhookServer:
    """One configured server."""

    def __init__(
        self, config: StoredObject, client: WebhookClient, subject: WebhookSubject
    ) -> None:
        """Initialize with a configuration.

        Args:
            config: its SchedulerPluginWebhookConfiguration.
            client: client for the calls.
            subject: the workload and the clusters.

        Raises:
            InputError: the configuration is malformed.
        """
        #: Name of its plugin in a profile.
        self.name = webhook_name(config.record.name)
        #: Its configuration.
        self.spec = config.read(SchedulerPluginWebhookConfiguration).spec
        self._timeout_s = seconds_of(self.spec.http_timeout, f"{self.name}: spec.httpTimeout")
        self._client, self._subject = client, subject
        _check_versions(self.name, self.spec)
        _check_address(self.name, self.spec.url_prefix)

    def check_paths(self, stages: Iterable[str]) -> None:
        """Check that the server has a path for each stage for which a profile enables it.

        Raises:
            InputError: a path is missing.
        """
        spec = self.spec
        paths = {
            "filter": spec.filter_path,
            "score": spec.score_path,
            "select": spec.select_path,
            "replicas": spec.replicas_path,
        }
        for stage in stages:
            if not paths[stage]:
                expected = f"a path, as a profile enables it for the stage {stage}"
                raise InputError(f"{self.name}: spec.{stage}Path", None, expected)

    @property
    def is_batched(self) -> bool:
        """True if it receives all clusters in one call."""
        return BATCH in self.spec.payload_versions

    def singly(self, path: str, names: Sequence[str]) -> Sequence[WebhookAnswer]:
        """Make one call for each cluster, in parallel."""
        unit, clusters = self._subject
        bodies = [{"schedulingUnit": unit, "cluster": clusters[name]} for name in names]
        return self._client.send([self._call(path, body) for body in bodies])

    def batch(self, path: str, names: Sequence[str]) -> WebhookAnswer:
        """Make one call for all clusters."""
        unit, clusters = self._subject
        body = {"schedulingUnit": unit, "clusters": [clusters[name] for name in names]}
        return self._client.send([self._call(path, body)])[0]

    def selection(self, points: Mapping[str, int]) -> WebhookAnswer:
        """Make one call with the scores of all clusters."""
        unit, clusters = self._subject
        scored = [{"cluster": clusters[name], "score": score} for name, score in points.items()]
        body = {"schedulingUnit": unit, "clusterScores": scored}
        return self._client.send([self._call(self.spec.select_path, body)])[0]

    def read(self, answer: WebhookAnswer, type_: type[_Reply]) -> _Reply:
        """The decoded answer; null members count as absent, as in Go's decoders.

        Raises:
            WebhookError: the answer is missing or malformed, or the server reports an error.
        """
        if answer.problem:
            raise WebhookError(f"{self.name}: {answer.problem}: check its server")
        try:
            reply = msgspec.convert(_without_nulls(msgspec.json.decode(answer.body)), type_)
        except msgspec.DecodeError as error:
            raise WebhookError(f"{self.name}: malformed answer: {error}") from error
        if reply.error:
            raise WebhookError(f"{self.name}: {reply.error}")
        return reply

    def _call(self, path: str, body: Fields) -> WebhookCall:
        url = f"{self.spec.url_prefix.rstrip('/')}/{path.lstrip('/')}"
        text = msgspec.json.encode(body)
        return WebhookCall(url, text, self._timeout_s, self.spec.tls_config)


def _without_nulls(found: Any) -> Any:
    """An answer without its null members; null itself becomes empty."""
    if isinstance(found, dict):
        return {key: value for key, value in found.items() if value is not None}
    return {} if found is None else found


def _check_address(name: str, prefix: str) -> None:
    """Check that the address of a server is a valid URL.

    Raises:
        InputError: the address is invalid.
    """
    parts = urlsplit(prefix)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        expected = "an address such as https://scheduler.example/v1"
        raise InputError(f"{name}: spec.urlPrefix", prefix or None, expected)


def _check_versions(name: str, spec: WebhookConfigurationSpec) -> None:
    """Check that the server supports a known payload version.

    Raises:
        InputError: it supports none.
    """
    if not {SINGLE, BATCH} & set(spec.payload_versions):
        given = ", ".join(spec.payload_versions) or None
        raise InputError(f"{name}: spec.payloadVersions", given, f"{SINGLE} or {BATCH}")
