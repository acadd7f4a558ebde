"""Admission of the objects of an input: each becomes what a cluster would hold, or is refused."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from stretto.api.admission.admit import admit
from stretto.api.admission.quota import used_by, with_usage
from stretto.api.admission.request import (
    AdmissionRequest,
    ForbiddenError,
    JsonObject,
    ObjectSet,
    ObjectView,
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
from stretto.inputs.objects.checked import ObjectChecks
from stretto.inputs.objects.relations import InputObject


class UnknownFieldWarning(UserWarning):
    """A field of a manifest that its kind does not have, which is ignored."""


class InputContext(NamedTuple):
    """The objects to which an input is added."""

    #: All objects, which admission reads: classes, LimitRanges, quotas and what counts in them.
    objects: Sequence[tuple[Kind, bytes]] = ()
    #: Receives what admission forbids; ``None`` raises the first refusal.
    refused: list[str] | None = None
    #: Receives the pods and errors of each object; ``None`` raises the first error.
    checks: ObjectChecks | None = None
    #: True if quotas count pods now; a run charges each pod when it arrives.
    charges_pods: bool = True


NO_CONTEXT: Final = InputContext()
"""An input on its own."""


class WithoutQuotas(NamedTuple):
    """A view of objects without ResourceQuotas."""

    #: All objects.
    objects: ObjectView

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """One object, or ``None``."""
        return None if kind == RESOURCE_QUOTA else self.objects.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        """The objects of a kind; of one namespace unless it is empty."""
        return () if kind == RESOURCE_QUOTA else self.objects.list(kind, namespace)


class InputAdmission:
    """Admits the objects of one input against one another and the objects of a state."""

    def __init__(
        self, objects: Iterable[tuple[Kind, bytes]], context: InputContext = NO_CONTEXT
    ) -> None:
        """Prepare the view of the objects of an input, and of those that it is added to."""
        #: Receives the pods and errors of each object.
        self.checks = context.checks
        known = [*context.objects, *(each for each in objects if each[0] != POD)]
        counted = any(kind == RESOURCE_QUOTA for kind, _ in known)
        self._view = ObjectSet(
            (kind, _parsed(body))
            for kind, body in known
            if kind in ADMISSION_KINDS or (counted and kind == POD)
        )
        for quota in list(self._view.list(RESOURCE_QUOTA)):
            self._view.add(RESOURCE_QUOTA, with_usage(quota, used_by(quota, self._view)))
        self._for_pods: ObjectView = self._view
        if not context.charges_pods:
            self._for_pods = WithoutQuotas(self._view)
        self._refused = context.refused

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
        """True if an object of this kind and name exists."""
        return self._view.get(item.kind, item.namespace, item.name) is not None

    def admit_body(self, kind: Kind, body: JsonObject, where: str) -> JsonObject | None:
        """A decoded object as the cluster would hold it; ``None`` if it is refused."""
        try:
            with inside(where):
                view = self._for_pods if kind == POD else self._view
                found = admit(AdmissionRequest(kind, body), view)
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
            equal = not self._counts(pod["metadata"]["namespace"])
            if found is not None:
                yield found
                if equal and not has_label_keys(pod["spec"]):
                    first = found
            elif equal:
                return  # without quotas, each of the pods is refused for the same reason

    def _counts(self, namespace: str) -> bool:
        """True if a pod of a namespace is charged to quotas."""
        return any(True for _ in self._for_pods.list(RESOURCE_QUOTA, namespace))

    @property
    def reads_namespaces(self) -> bool:
        """True if pods of different namespaces can be admitted differently."""
        kinds = (LIMIT_RANGE, RESOURCE_QUOTA)
        return any(True for kind in kinds for _ in self._for_pods.list(kind))


class PodTemplateAdmission:
    """Admits encoded pods that have few different specs: each spec once.

    A pod of a known spec gets its defaults as text. This changes nothing: no step of admission
    reads the metadata of a pod, except label keys of terms, LimitRanges and quotas, for which every
    pod is admitted on its own.
    """

    def __init__(
        self, admit: Callable[[JsonObject], JsonObject | None], *, apart: bool = False
    ) -> None:
        """Admit pods with ``admit``; ``apart`` if pods of different namespaces differ."""
        self._admit = admit
        self._is_apart = apart
        self._known: dict[bytes, bytes] = {}

    def body(self, body: bytes) -> bytes | None:
        """A pod as the cluster would hold it; ``None`` if it is refused.

        Raises:
            InputError: a field is invalid.
            ForbiddenError: the pod is refused, and refusals are not collected.
        """
        head, mark, spec = body.partition(_SPEC)
        known = self._known.get(spec)
        if known is not None:
            return head + mark + known
        found = self._admit(_parsed(body))
        if found is None:
            return None
        ready = msgspec.json.encode(found)
        new_head, _, new_spec = ready.partition(_SPEC)
        if new_head == head and not self._is_apart and not has_label_keys(found["spec"]):
            if len(self._known) >= _SPECS:
                self._known.clear()
            self._known[spec] = new_spec
        return ready


def admitted_late(kind: Kind) -> bool:
    """True if objects of a kind are admitted after all others: pods and their controllers."""
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
    named = meta if isinstance(meta, dict) else {}
    name = named.get("name") or named.get("generateName") or ""
    title = f"{where}: {kind.kind.lower()} {name}".rstrip()
    check_fields(kind, parsed, title, warn if lenient else None)
    with inside(where):
        validate(decode(kind, body))


ADMISSION_KINDS: Final = (
    LIMIT_RANGE,
    PERSISTENT_VOLUME_CLAIM,
    PRIORITY_CLASS,
    RESOURCE_QUOTA,
    RUNTIME_CLASS,
    STORAGE_CLASS,
)
"""Kinds that admission reads; pods only where quotas count them."""
_SPEC: Final = b',"spec":'
"""The begin of the spec in an encoded object: texts before it have escaped quotes."""
_SPECS: Final = 10_000
"""Specs that are remembered; a full table is cleared."""
_OWN: Final = ("hostname", "affinity", "volumes")
"""Members of a pod's spec that a controller sets for each pod."""


def _own(spec: Mapping[str, Any], first: Mapping[str, Any]) -> JsonObject:
    """The members of a spec that a controller sets for each pod."""
    return {name: spec[name] for name in _OWN if name in spec and name in first}


def _parsed(body: bytes) -> JsonObject:
    """An object without null members."""
    found: JsonObject = without_nulls(parse_object(body, "object"))
    return found
