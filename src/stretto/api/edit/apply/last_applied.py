"""The annotation of client-side apply when kubectl migrates to server-side apply.

Kubernetes keeps the annotation current after an apply by the manager ``kubectl``. Such an apply
also takes over the fields in the annotation whose values have not changed.
"""

from typing import Any, Final

import msgspec

from stretto.api.edit.apply import fieldset
from stretto.api.edit.apply.compare import compare, owned_fields
from stretto.api.edit.apply.fieldset import FieldSet
from stretto.api.edit.apply.walking import ApplyError, check_typed
from stretto.api.schema.golang import html_escaped
from stretto.api.schema.types import ValueType

Json = dict[str, Any]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Name of the annotation."""
MANAGER: Final = "kubectl"
"""The manager whose applies update the annotation."""
_MAX_ANNOTATIONS: Final = 256 << 10
"""Maximum total bytes of all annotations of an object."""


def taken_over(live: Json, kind: ValueType) -> FieldSet:
    """The fields in the annotation of an object whose values have not changed since."""
    text = _annotations(live).get(LAST_APPLIED, "")
    try:
        config = msgspec.json.decode(text)
        if not isinstance(config, dict) or config.get("apiVersion") != live.get("apiVersion"):
            return {}
        check_typed(config, kind)
    except (msgspec.DecodeError, ApplyError):
        return {}
    changed = compare(config, live, kind)
    named = owned_fields(config, kind)
    for each in (changed.modified, changed.added, changed.removed):
        named = fieldset.difference(named, each)
    return named


def annotated(item: Json, config: Json) -> Json:
    """Return an object in which an existing annotation contains a configuration."""
    notes = _annotations(item)
    if LAST_APPLIED not in notes:
        return item
    rest = {key: each for key, each in notes.items() if key != LAST_APPLIED}
    text = _text(config)
    if sum(len(part) for pair in rest.items() for part in pair) + len(text) <= _MAX_ANNOTATIONS:
        rest[LAST_APPLIED] = text
    return {**item, "metadata": {**item["metadata"], "annotations": rest}}


def _annotations(item: Json) -> dict[str, str]:
    return (item.get("metadata") or {}).get("annotations") or {}


def _text(config: Json) -> str:
    """Encode a configuration as Go does, without the annotation itself."""
    metadata = dict(config.get("metadata") or {})
    notes = {key: each for key, each in _annotations(config).items() if key != LAST_APPLIED}
    if "annotations" in metadata:
        metadata["annotations"] = notes
    shown = {**config, "metadata": metadata} if metadata else config
    return f"{html_escaped(msgspec.json.encode(shown, order='sorted')).decode()}\n"
