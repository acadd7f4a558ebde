"""Defaults of an object, and fields of disabled features: its own, then those of its fields."""

import copy
from collections.abc import Mapping
from typing import Any, Final

from stretto.api.admission.defaulting.cluster import CLUSTER
from stretto.api.admission.defaulting.core import CORE
from stretto.api.admission.defaulting.disabled import DISABLED
from stretto.api.admission.defaulting.edits import Edit, StructEdit
from stretto.api.admission.defaulting.extension import EXTENSION
from stretto.api.admission.defaulting.pod import POD
from stretto.api.admission.defaulting.workloads import WORKLOADS
from stretto.api.schema.types import StructType

Json = dict[str, Any]

DEFAULTS: Final[Mapping[str, Edit]] = {
    **POD,
    **CORE,
    **WORKLOADS,
    **CLUSTER,
    **EXTENSION,
}
"""Defaulting functions by struct name."""


def _default(kind: StructType) -> Edit | None:
    """Return a function that sets the defaults of one struct; ``None`` without any."""
    own, defaulted = DEFAULTS.get(kind.name), kind.defaulted
    if not defaulted:
        return own

    def set_own(value: Json) -> None:
        if own is not None:
            own(value)
        for field in defaulted:
            if field.name not in value or value[field.name] is None:
                value[field.name] = copy.deepcopy(field.default)

    return set_own


set_defaults: Final = StructEdit(_default)
"""Sets the defaults of an object in place."""
drop_disabled: Final = StructEdit(lambda kind: DISABLED.get(kind.name))
"""Removes the fields of disabled features from an object in place."""
