"""Objects that a server computes for each answer, such as metrics: they have no versions."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.api.wire.kinds import POD_METRICS
from stretto.base.errors import InputError, NotAllowedError, StrettoError, UnreachableError
from tests.unit.stores.kube_server import IMPATIENT, Server, at, status


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.close()


def test_measurements_are_read_without_versions(server: Server) -> None:
    item = {
        "metadata": {"name": "web", "namespace": "shop"},
        "timestamp": "2026-01-01T00:00:00Z",
        "window": "15s",
        "containers": [{"name": "main", "usage": {"cpu": "150m"}}],
    }
    path = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods"
    answer = {"kind": "PodMetricsList", "metadata": {}, "items": [item]}
    server.rules = [at("GET", path, lambda: web.json_response(answer))]
    (found,) = server.store().inquiries.computed(POD_METRICS, "shop", PodMetrics).result()
    assert (found.metadata.name, found.containers[0].usage) == ("web", {"cpu": "150m"})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda: status(404, "NotFound"), UnreachableError),
        (lambda: status(403, "Forbidden"), NotAllowedError),
        (lambda: web.json_response({"items": [{"metadata": 1}]}), InputError),
    ],
)
def test_a_server_without_measurements_is_an_error_of_its_kind(
    answer: object, error: type[StrettoError], server: Server
) -> None:
    server.rules = [lambda _: answer()]  # type: ignore[operator]
    with pytest.raises(error):
        server.store(IMPATIENT).inquiries.computed(POD_METRICS, "shop", PodMetrics).result()
