"""Rules of ephemeral containers, which debug a running pod."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.api.checks.fields.errors import duplicate, forbidden, missing
from stretto.api.checks.kinds.pods.containers import PodFrame, check_container
from stretto.api.checks.kinds.values import Json

_FORBIDDEN: Final = (
    "ports", "resources", "resizePolicy", "restartPolicy", "livenessProbe", "readinessProbe",
    "startupProbe", "lifecycle",
)  # fmt: skip


def check_ephemeral(
    items: list[Json], path: str, names: set[str], frame: PodFrame
) -> Iterator[Any]:
    """Check the ephemeral containers of a pod."""
    known = {
        each.get("name", "")
        for word in ("containers", "initContainers")
        for each in frame.spec.get(word) or ()
    }
    for index, container in enumerate(items):
        where, name = f"{path}[{index}]", container.get("name", "")
        yield from check_container(container, where, frame)
        if name in names:
            yield duplicate(f"{where}.name", name)
        elif name:
            names.add(name)
        target = container.get("targetContainerName", "")
        if target and target not in known:
            yield missing(f"{where}.targetContainerName", target)
        for word in _FORBIDDEN:
            if container.get(word):
                detail = "cannot be set for an Ephemeral Container"
                yield forbidden(f"{where}.{word}", detail)
        for mount, item in enumerate(container.get("volumeMounts") or ()):
            if item.get("subPath") or item.get("subPathExpr"):
                word = "subPath" if item.get("subPath") else "subPathExpr"
                detail = "cannot be set for an Ephemeral Container"
                yield forbidden(f"{where}.volumeMounts[{mount}].{word}", detail)
