"""Health, readiness and the version of the server."""

from typing import Any, Final

from stretto.web.api.failures import PlainError
from stretto.web.api.message import NO_CACHE, ApiRequest, ApiResponse

Json = dict[str, Any]

TEXT: Final = "text/plain; charset=utf-8"
_NOSNIFF: Final = {**NO_CACHE, "X-Content-Type-Options": "nosniff"}
_HOOKS: Final = (
    "start-apiserver-admission-initializer", "generic-apiserver-start-informers",
    "priority-and-fairness-config-consumer", "priority-and-fairness-filter",
    "storage-object-count-tracker-hook", "start-apiextensions-informers",
    "start-apiextensions-controllers", "crd-informer-synced", "start-system-namespaces-controller",
    "peer-endpoint-reconciler-controller", "start-cluster-authentication-info-controller",
    "start-kube-apiserver-identity-lease-controller",
    "start-kube-apiserver-identity-lease-garbage-collector", "storage-readiness",
    "start-legacy-token-tracking-controller", "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles", "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer", "bootstrap-controller",
    "start-kubernetes-service-cidr-controller", "start-kube-aggregator-informers",
    "apiservice-status-local-available-controller", "apiservice-status-remote-available-controller",
    "apiservice-registration-controller", "apiservice-discovery-controller",
    "kube-apiserver-autoregistration",
)  # fmt: skip
_LAST: Final = ("apiservice-openapi-controller", "apiservice-openapiv3-controller")
_STARTED: Final = (
    *(f"poststarthook/{name}" for name in _HOOKS),
    "autoregister-completion",
    *(f"poststarthook/{name}" for name in _LAST),
)
_ALIVE: Final = ("ping", "log", "loopback-serving-certificate", "etcd", *_STARTED)
_READY: Final = ("ping", "log", "etcd", "etcd-readiness", "informer-sync", *_STARTED, "shutdown")
CHECKS: Final = {"healthz": _ALIVE, "livez": _ALIVE, "readyz": _READY}
"""The checks of kube-apiserver by endpoint; a server that answers has passed all of them."""

VERSION: Final[Json] = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.3",
    "gitCommit": "$Format:%H$",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "go1.26.8",
    "compiler": "gc",
    "platform": "linux/amd64",
}
"""The served version of Kubernetes."""


def health(request: ApiRequest) -> ApiResponse | None:
    """Return the response of a health endpoint; ``None`` for another path."""
    word, _, check = request.path.strip("/").partition("/")
    if word not in CHECKS or (check and check not in CHECKS[word]):
        return None
    if check:
        return ApiResponse(200, b"ok", TEXT, NO_CACHE)
    if "verbose" not in request.query:
        return ApiResponse(200, b"ok", TEXT, _NOSNIFF)
    excluded = request.query.get("exclude", [])
    lines = [
        f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in CHECKS[word]
    ]
    unknown = [f'"{each}"' for each in excluded if each not in CHECKS[word]]
    if unknown:
        matches = ", ".join(unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {matches}")
    text = "\n".join([*lines, f"{word} check passed", ""])
    return ApiResponse(200, text.encode(), TEXT, _NOSNIFF)


def no_page() -> PlainError:
    """Return a 404 outside the API."""
    return PlainError(404, "404 page not found\n")
