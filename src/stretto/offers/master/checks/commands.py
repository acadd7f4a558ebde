"""Checks of commands, containers, volumes and health checks."""

from collections.abc import Callable
from typing import Final, TypeAlias

from stretto.offers.messages.schema import Message

Check: TypeAlias = Callable[[Message], str | None]
"""A check of one part of a message."""

_VOLUME_SOURCES: Final = {
    "DOCKER_VOLUME": ("docker_volume", "DOCKER_VOLUME"),
    "HOST_PATH": ("host_path", "HOST_PATH"),
    "SANDBOX_PATH": ("sandbox_path", "SANDBOX_PATH"),
    "SECRET": ("secret", "SECRET"),
    "CSI_VOLUME": ("csi_volume", "CSI"),
}
_DURATIONS: Final = ("delay_seconds", "grace_period_seconds", "interval_seconds", "timeout_seconds")


def command_error(command: Message) -> str | None:
    """Error in a CommandInfo; ``None`` if it is valid."""
    for variable in command.get("environment", {}).get("variables", ()):
        error = _variable_error(variable)
        if error:
            return error
    return None


def container_error(container: Message) -> str | None:
    """Error in a ContainerInfo; ``None`` if it is valid."""
    for volume in container.get("volumes", ()):
        error = _volume_error(volume)
        if error:
            return f"Invalid volume: {error}"
    if container.get("type") == "DOCKER":
        if "docker" not in container:
            return "DockerInfo 'docker' is not set for DOCKER typed ContainerInfo"
        if any(each["key"] == "name" for each in container["docker"].get("parameters", ())):
            return "Parameter in DockerInfo must not be 'name'"
    return None


def health_check_error(check: Message) -> str | None:
    """Error in a HealthCheck; ``None`` if it is valid."""
    if "type" not in check:
        return "HealthCheck must specify 'type'"
    return (
        _probe_error(check, "health check", check.get("command", {}))
        or _http_error(check.get("http", {}), "HTTP health check", check["type"])
        or _duration_error(check)
    )


def check_error(check: Message) -> str | None:
    """Error in a CheckInfo; ``None`` if it is valid."""
    if "type" not in check:
        return "CheckInfo must specify 'type'"
    return (
        _probe_error(check, "check", check.get("command", {}).get("command", {}))
        or _http_error(check.get("http", {}), "HTTP check", check["type"])
        or _duration_error(check)
    )


def _probe_error(check: Message, noun: str, command: Message) -> str | None:
    kind = check["type"]
    if kind == "UNKNOWN":
        return f"'{kind}' is not a valid {noun} type"
    if kind.lower() not in check:
        return f"Expecting '{kind.lower()}' to be set for {kind} {noun}"
    if kind != "COMMAND":
        return None
    if "value" not in command:
        part = "'shell command'" if command.get("shell", True) else "'executable path'"
        return f"Command {noun} must contain {part}"
    error = command_error(command)
    return f"{noun.capitalize()}'s `CommandInfo` is invalid: {error}" if error else None


def _http_error(http: Message, noun: str, kind: str) -> str | None:
    if kind != "HTTP":
        return None
    scheme, path = http.get("scheme", "http"), http.get("path", "/")
    if scheme not in ("http", "https"):
        return f"Unsupported {noun} scheme: '{scheme}'"
    if not path.startswith("/"):
        return f"The path '{path}' of {noun} must start with '/'"
    return None


def _duration_error(check: Message) -> str | None:
    negative = next((name for name in _DURATIONS if check.get(name, 0.0) < 0.0), None)
    return f"Expecting '{negative}' to be non-negative" if negative else None


def _variable_error(variable: Message) -> str | None:
    name, kind = variable["name"], variable.get("type", "VALUE")
    prefix = f"Environment variable '{name}' of type '{kind}'"
    if kind == "SECRET":
        if "secret" not in variable:
            return f"{prefix} must have a secret set"
        return f"{prefix} must not have a value set" if "value" in variable else None
    if kind == "VALUE":
        if "value" not in variable:
            return f"{prefix} must have a value set"
        return f"{prefix} must not have a secret set" if "secret" in variable else None
    return "Environment variable of type 'UNKNOWN' is not allowed"


def _volume_error(volume: Message) -> str | None:
    if sum(name in volume for name in ("host_path", "image", "source")) != 1:
        return "Only one of them should be set: 'host_path', 'image' and 'source'"
    if "source" not in volume:
        return None
    found = _VOLUME_SOURCES.get(volume["source"].get("type", "UNKNOWN"))
    if found is None:
        return "'source.type' is unknown"
    field, noun = found
    return None if field in volume["source"] else f"'source.{field}' is not set for {noun} volume"
