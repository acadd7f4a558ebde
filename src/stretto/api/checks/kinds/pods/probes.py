"""Rules of probes and of the lifecycle hooks of a container."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import forbidden, invalid, required
from stretto.api.checks.fields.texts import header_name, port_name
from stretto.api.checks.kinds.values import Json, not_negative, one_of, port_number

_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBED: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_WORDS: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def check_probes(container: Json, where: str, grace: int) -> Iterator[Any]:
    """Check the probes of a container."""
    for word in _WORDS:
        if container.get(word) is not None:
            yield from _probe(container[word], f"{where}.{word}", word, grace)


def _probe(probe: Json, where: str, word: str, grace: int) -> Iterator[Any]:
    yield from _handlers(probe, where, _PROBED, grace)
    for name in _NUMBERS:
        yield from not_negative(probe.get(name), f"{where}.{name}")
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid(f"{where}.terminationGracePeriodSeconds", seconds, "must be greater than 0")
    if word == "readinessProbe":
        if seconds is not None:
            detail = "must not be set for readinessProbes"
            yield invalid(f"{where}.terminationGracePeriodSeconds", seconds, detail)
    elif probe.get("successThreshold", 1) != 1:
        yield invalid(f"{where}.successThreshold", probe["successThreshold"], "must be 1")


def check_lifecycle(lifecycle: Json, path: str, grace: int) -> Iterator[Any]:
    """Check the lifecycle hooks of a container."""
    for word in ("postStart", "preStop"):
        if lifecycle.get(word) is not None:
            yield from _handlers(lifecycle[word], f"{path}.{word}", _HANDLERS, grace)


def _handlers(value: Json, where: str, known: tuple[str, ...], grace: int) -> Iterator[Any]:
    """Check that exactly one handler is set."""
    given = [each for each in known if value.get(each) is not None]
    for each in given[1:]:
        yield forbidden(f"{where}.{each}", "may not specify more than 1 handler type")
    if not given:
        yield required(where, "must specify a handler type")
        return
    first = given[0]
    yield from _CHECKS[first](value[first], f"{where}.{first}", grace)


def _command(action: Json, path: str, _grace: int) -> Iterator[Any]:
    if not action.get("command"):
        yield required(f"{path}.command")


def _request(action: Json, path: str, _grace: int) -> Iterator[Any]:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from check_port(action.get("port"), f"{path}.port")
    yield from one_of(action.get("scheme"), f"{path}.scheme", ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        yield from (invalid(f"{path}.httpHeaders", name, each) for each in header_name(name))


def _socket(action: Json, path: str, _grace: int) -> Iterator[Any]:
    yield from check_port(action.get("port"), f"{path}.port")


def _sleep(action: Json, path: str, grace: int) -> Iterator[Any]:
    seconds = action.get("seconds", 0)
    if not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield invalid(path, seconds, detail)


_CHECKS: Final = {
    "exec": _command,
    "httpGet": _request,
    "tcpSocket": _socket,
    "grpc": _socket,
    "sleep": _sleep,
}


def check_port(port: Any, path: str) -> Iterator[Any]:
    """Check a port number or a port name."""
    if isinstance(port, str):
        yield from (invalid(path, port, each) for each in port_name(port))
        return
    yield from port_number(port, path)
