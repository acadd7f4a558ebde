"""Admission of the objects of an input: each becomes what a cluster would hold, or is refused."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from stretto.api.admission.admit import admit
from stretto.api.admission.quota import used_by, with_usage
from stretto.api.admission.request import (
    AdmissionRequest,
    ForbiddenError,
    JsonObject,
    ObjectSet,
)
from stretto.api.admission.schema import UnknownField, check_fields
from stretto.api.admission.selectors import has_label_keys
from stretto.api.admission.workloads import CONTROLLERS
from stretto.api.codec import decode, parse_object, without_nulls
from stretto.api.validation import validate
from stretto.api.wire.kinds import (
    LIMIT_RANGE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    PRIORITY_CLASS,
    RESOURCE_QUOTA,
    RUNTIME_CLASS,
    STORAGE_CLASS,
    Kind,
)
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.relations import InputObject


class UnknownFieldWarning(UserWarning):
    """A field of a manifest that its kind does not have, which is ignored."""


class InputAdmission:
    """Admits the objects of one input against one another and the objects of a state."""

    def __init__(
        self,
        objects: Iterable[InputObject],
        others: Iterable[tuple[Kind, bytes]] = (),
        refused: list[str] | None = None,
    ) -> None:
        """Prepare the view.

        Args:
            objects: the objects of the input.
            others: the objects of the state that the input is added to.
            refused: receives what admission forbids; ``None`` raises the first refusal.
        """
        known = [*others, *((each.kind, each.body) for each in objects if each.kind != POD)]
        counted = any(kind == RESOURCE_QUOTA for kind, _ in known)
        self._view = ObjectSet(
            (kind, _parsed(body))
            for kind, body in known
            if kind in _READ or (counted and kind == POD)
        )
        for quota in list(self._view.list(RESOURCE_QUOTA)):
            self._view.add(RESOURCE_QUOTA, with_usage(quota, used_by(quota, self._view)))
        self._refused = refused

    def admitted(self, item: InputObject) -> InputObject | None:
        """An object as the cluster would hold it; ``None`` if it is refused.

        Raises:
            InputError: a field is invalid.
            ForbiddenError: the object is refused, and refusals are not collected.
        """
        body = self.admit_body(item.kind, _parsed(item.body), item.where)
        if body is None:
            return None
        return msgspec.structs.replace(item, body=msgspec.json.encode(body))

    def holds(self, item: InputObject) -> bool:
        """Whether an object of this kind and name exists."""
        return self._view.get(item.kind, item.namespace, item.name) is not None

    def admit_body(self, kind: Kind, body: JsonObject, where: str) -> JsonObject | None:
        """A decoded object as the cluster would hold it; ``None`` if it is refused."""
        try:
            with inside(where):
                found = admit(AdmissionRequest(kind, body), self._view)
        except ForbiddenError as error:
            message = ForbiddenError(
                f"{where}: {error.what}", error.reason, error.hint, error.field
            )
            if self._refused is None:
                raise message from error
            self._refused.append(str(message))
            return None
        self._view.add(kind, found.body)
        for quota in found.quotas:
            self._view.add(RESOURCE_QUOTA, quota)
        return found.body

    def admit_pods(self, pods: Iterable[JsonObject], where: str) -> Iterator[JsonObject]:
        """The pods of one template, each with a name of its own.

        Where no step of admission reads what differs between the pods, the first one is admitted
        and the others get its defaults.
        """
        first: JsonObject | None = None
        for pod in pods:
            if first is not None:
                spec = {**first["spec"], **_own(pod["spec"], first["spec"])}
                yield {**first, "metadata": pod["metadata"], "spec": spec}
                continue
            found = self.admit_body(POD, pod, where)
            if found is None:
                continue
            yield found
            if not has_label_keys(pod["spec"]) and not self._counts(pod["metadata"]["namespace"]):
                first = found

    def _counts(self, namespace: str) -> bool:
        """Whether the namespace of a pod has quotas."""
        return any(True for _ in self._view.list(RESOURCE_QUOTA, namespace))


def admitted_late(kind: Kind) -> bool:
    """Whether objects of a kind are admitted after all others: pods and their controllers."""
    return kind == POD or kind in CONTROLLERS


def check_object(kind: Kind, body: bytes, where: str, *, lenient: bool) -> None:
    """Refuse an invalid object; unknown fields are refused or warned of.

    Raises:
        InputError: a value is invalid, or a field is unknown and ``lenient`` is not set.
    """

    def warn(found: UnknownField) -> None:
        text = f"{title}: {found.path}: {found.sentence}"
        warnings.warn(text, UnknownFieldWarning, stacklevel=2)

    parsed = _parsed(body)
    meta = parsed.get("metadata")
    name = meta.get("name") if isinstance(meta, dict) else ""
    title = f"{where}: {kind.kind.lower()} {name}".rstrip()
    check_fields(kind, parsed, title, warn if lenient else None)
    with inside(where):
        validate(decode(kind, body))


_READ: Final = (
    LIMIT_RANGE,
    PERSISTENT_VOLUME_CLAIM,
    PRIORITY_CLASS,
    RESOURCE_QUOTA,
    RUNTIME_CLASS,
    STORAGE_CLASS,
)
"""Kinds that admission reads; pods only where quotas count them."""
_OWN: Final = ("hostname", "affinity", "volumes")
"""Members of a pod's spec that a controller sets for each pod."""


def _own(spec: Mapping[str, Any], first: Mapping[str, Any]) -> JsonObject:
    """The members of a spec that a controller sets for each pod."""
    return {name: spec[name] for name in _OWN if name in spec and name in first}


def _parsed(body: bytes) -> JsonObject:
    """An object without null members."""
    found: JsonObject = without_nulls(parse_object(body, "object"))
    return found
