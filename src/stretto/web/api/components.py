"""States of the components of a control plane, as the deprecated kind ComponentStatus."""

from collections.abc import Mapping
from typing import Any, Final

_HEALTHY: Final = {"type": "Healthy", "status": "True", "message": "ok"}
_UNKNOWN: Final = {
    "type": "Healthy",
    "status": "Unknown",
    "message": "this server does not observe the component",
}
_COMPONENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "controller-manager": _UNKNOWN,
    "scheduler": _UNKNOWN,
    "etcd-0": _HEALTHY,
}
"""Conditions by name, in the order of kube-apiserver; a server that answers has its store."""


class ComponentStatuses:
    """The computed ComponentStatus objects."""

    def get(self, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return the status of a component; ``None`` if the name is unknown."""
        del namespace
        condition = _COMPONENTS.get(name)
        return None if condition is None else _status(name, condition)

    def list(self, namespace: str) -> list[Mapping[str, Any]]:
        """The statuses of all components."""
        del namespace
        return [_status(name, condition) for name, condition in _COMPONENTS.items()]


def _status(name: str, condition: Mapping[str, str]) -> Mapping[str, Any]:
    return {"metadata": {"name": name}, "conditions": [dict(condition)]}
