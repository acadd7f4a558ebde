"""Settings of a configured kind that have no effect: unknown fields and unknown controllers."""

from collections.abc import Iterator
from typing import Final

import msgspec

from stretto.api.admission.schema import unknown_path
from stretto.federation import names
from stretto.federation.types import FederatedType

_CONTROLLERS: Final = (names.SCHEDULER, names.OVERRIDES, names.NAMESPACES, names.AUTOSCALERS)
"""Controllers that take a turn in the pipeline of an object."""


def oddities(type_: FederatedType) -> Iterator[str]:
    """Settings of a configuration that have no effect, each with a remedy."""
    for field, path in msgspec.to_builtins(type_.paths).items():
        if path and (unknown := unknown_path(type_.kind, path)):
            yield f"pathDefinition.{field} is {path}: {unknown.sentence}"
    for path in type_.collected or ():
        if unknown := unknown_path(type_.kind, path):
            yield f"statusCollection.fields has {path}: {unknown.sentence}"
    for name in sum(type_.pipeline, ()):
        if name.startswith(names.PREFIX) and name not in _CONTROLLERS:
            known = ", ".join(_CONTROLLERS)
            yield f"controllers has {name}, which does not exist, so objects wait: use {known}"
