"""Pages for operators: metrics, settings and the state of the process, as text."""

from collections.abc import Callable, Mapping
from typing import Final

from prometheus_client import generate_latest

from stretto.base.clock import timestamp
from stretto.web.api.discovery.health import CHECKS, TEXT, VERSION
from stretto.web.api.flows.metrics import FlowMetrics
from stretto.web.api.message import NO_CACHE, ApiResponse
from stretto.web.api.state import ApiState

_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
_NOTE: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility "
    "guarantees and is for debugging purposes only."
)


def _metrics(state: ApiState) -> ApiResponse:
    """Return the metrics of the process and of flow control."""
    flows = generate_latest(FlowMetrics(state.storage, state.flows))
    return ApiResponse(200, generate_latest() + flows, _METRICS, NO_CACHE)


def _indicators(_state: ApiState) -> ApiResponse:
    """Return the health checks as metrics; a server that answers has passed all of them."""
    lines = [
        "# HELP kubernetes_healthcheck Whether a health check has passed.",
        "# TYPE kubernetes_healthcheck gauge",
    ]
    lines += [
        f'kubernetes_healthcheck{{name="{check}",type="{endpoint}"}} 1'
        for endpoint, checks in CHECKS.items()
        for check in checks
    ]
    return ApiResponse(200, "\n".join([*lines, ""]).encode(), _METRICS, NO_CACHE)


def _flags(state: ApiState) -> ApiResponse:
    """Return the settings of the server, under the names of kube-apiserver's flags."""
    words = {
        "allow-privileged": str(state.allows_privileged).lower(),
        "authorization-mode": "Node,RBAC",
        "service-cluster-ip-range": "10.0.0.0/24",
    }
    return _page("flagz", [f"{name}={value}" for name, value in words.items()])


def _status(state: ApiState) -> ApiResponse:
    """Return the version of the server and its time."""
    lines = [f"Time: {timestamp(state.clock.now())}", f"Version: {VERSION['gitVersion']}"]
    return _page("statusz", lines)


def _page(word: str, lines: list[str]) -> ApiResponse:
    text = "\n".join([f"kube-apiserver {word}", _NOTE, "", *lines, ""])
    return ApiResponse(200, text.encode(), TEXT, NO_CACHE)


def _verbosity(_state: ApiState) -> ApiResponse:
    """Refuse to read the log level, which kube-apiserver only allows to set."""
    headers = {**NO_CACHE, "X-Content-Type-Options": "nosniff"}
    return ApiResponse(406, b"unsupported http method\n", "text/plain", headers)


VERBOSITY: Final = "/debug/flags/v"
"""Path of a page that is missing in the list of paths."""
OPERATION: Final[Mapping[str, Callable[[ApiState], ApiResponse]]] = {
    VERBOSITY: _verbosity,
    "/metrics": _metrics,
    "/metrics/slis": _indicators,
    "/flagz": _flags,
    "/statusz": _status,
}
"""Pages by path."""
