"""Health, readiness and the version of the server."""

from typing import Any, Final

from stretto.web.api.failures import PlainError
from stretto.web.api.message import NO_CACHE, ApiRequest, ApiResponse

Json = dict[str, Any]

TEXT: Final = "text/plain; charset=utf-8"
_NOSNIFF: Final = {**NO_CACHE, "X-Content-Type-Options": "nosniff"}
_CHECKS: Final = ("ping", "log", "etcd")
_ENDPOINTS: Final = ("healthz", "livez", "readyz")

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
"""The version of Kubernetes whose API is served."""


def health(request: ApiRequest) -> ApiResponse | None:
    """The answer of a health endpoint; ``None`` for another path."""
    word, _, check = request.path.strip("/").partition("/")
    if word not in _ENDPOINTS:
        return None
    if check:
        return ApiResponse(200, b"ok", TEXT, NO_CACHE)
    if "verbose" not in request.query:
        return ApiResponse(200, b"ok", TEXT, _NOSNIFF)
    excluded = request.query.get("exclude", [])
    lines = [f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok" for name in _CHECKS]
    text = "\n".join([*lines, f"{word} check passed", ""])
    return ApiResponse(200, text.encode(), TEXT, _NOSNIFF)


def no_page() -> PlainError:
    """404 outside the API."""
    return PlainError(404, "404 page not found\n")
