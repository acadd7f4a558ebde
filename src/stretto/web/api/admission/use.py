"""Admission of annotations with the use of simulated pods."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.web.api import failures
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.workloads.use.annotations import LOAD, USE, read_use

Json = dict[str, Any]

_ANNOTATIONS: Final = (USE, LOAD)


def check_use(_state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse objects with malformed annotations of their use."""
    causes = []
    for path, notes in _noted(admission.item or {}):
        for name in _ANNOTATIONS:
            where = f"{path}.annotations[{name}]"
            try:
                read_use(notes[name], where) if name in notes else None
            except InputError as error:
                causes.append(("FieldValueInvalid", f"Invalid value: {error}", where))
    if causes:
        name = (admission.item or {})["metadata"].get("name", "")
        raise failures.invalid(admission.resource.kind, name, causes)


def _noted(item: Json) -> Iterator[tuple[str, dict[str, str]]]:
    """The annotations of an object and of its pod template, with the paths of their metadata."""
    yield "metadata", item["metadata"].get("annotations") or {} if "metadata" in item else {}
    spec = item.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    metadata = template.get("metadata") if isinstance(template, dict) else None
    if isinstance(metadata, dict):
        yield "spec.template.metadata", metadata.get("annotations") or {}
