"""Admission of the objects of an input: each is converted to its form in a cluster, or refused."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
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
from stretto.api.admission.selectors import has_label_keys
from stretto.api.admission.workloads import CONTROLLERS
from stretto.api.codec import parse_object, without_nulls
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
from stretto.inputs.objects.equal_specs import PodTemplateAdmission
from stretto.inputs.objects.relations import InputObject


class InputContext(NamedTuple):
    """The objects to which an input is added."""

    #: All objects that admission reads: classes, LimitRanges, quotas and what these count.
    objects: Sequence[tuple[Kind, bytes]] = ()
    #: Receives the refusals of admission; ``None`` raises the first one.
    refused: list[str] | None = None
    #: Receives the pods and errors of each object; ``None`` raises the first error.
    checks: ObjectChecks | None = None
    #: True if quotas count pods now; a run charges each pod when it arrives instead.
    charges_pods: bool = True


NO_CONTEXT: Final = InputContext()
"""An input that is not added to other objects."""


class WithoutQuotas(NamedTuple):
    """A view of objects without ResourceQuotas."""

    #: All objects.
    objects: ObjectView

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """Return one object, or ``None``."""
        return None if kind == RESOURCE_QUOTA else self.objects.get(kind, namespace, name)

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        """The objects of a kind; only those of a namespace if one is given."""
        return () if kind == RESOURCE_QUOTA else self.objects.list(kind, namespace)


class InputAdmission:
    """Admits the objects of one input against each other and the objects of a state."""

    def __init__(
        self, objects: Iterable[tuple[Kind, bytes]], context: InputContext = NO_CONTEXT
    ) -> None:
        """Create the view of the objects of an input, and of the objects to which it is added."""
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
        self._pods: PodTemplateAdmission | None = None

    def admitted(self, item: InputObject) -> InputObject | None:
        """An object in its form in the cluster; ``None`` if it is refused.

        Raises:
            InputError: a field is invalid.
            ForbiddenError: the object is refused, and refusals are not collected.
        """
        if item.kind == POD:
            ready = self._admitted_pod(item)
        else:
            made = self.admit_body(item.kind, _parsed(item.body), item.where)
            ready = None if made is None else msgspec.json.encode(made)
        return None if ready is None else msgspec.structs.replace(item, body=ready)

    def _admitted_pod(self, item: InputObject) -> bytes | None:
        """An encoded pod as the cluster would hold it; ``None`` if it is refused."""
        if self._pods is None:
            self._pods = PodTemplateAdmission(apart=self.reads_namespaces)
        return self._pods.body(item.body, partial(self.admit_body, POD, where=item.where))

    def holds(self, item: InputObject) -> bool:
        """True if an object of this kind and name exists."""
        return self._view.get(item.kind, item.namespace, item.name) is not None

    def admit_body(self, kind: Kind, body: JsonObject, where: str) -> JsonObject | None:
        """A decoded object in its form in the cluster; ``None`` if it is refused."""
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

        If no step of admission reads the fields that differ between the pods, the first pod is
        admitted and the others get its defaults.
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
                return  # without quotas, every other pod would be refused for the same reason

    def _counts(self, namespace: str) -> bool:
        """True if a pod of a namespace is charged to quotas."""
        return any(True for _ in self._for_pods.list(RESOURCE_QUOTA, namespace))

    @property
    def reads_namespaces(self) -> bool:
        """True if admission can differ between pods of different namespaces."""
        kinds = (LIMIT_RANGE, RESOURCE_QUOTA)
        return any(True for kind in kinds for _ in self._for_pods.list(kind))


def admitted_late(kind: Kind) -> bool:
    """True if objects of a kind are admitted after all others: pods and their controllers."""
    return kind == POD or kind in CONTROLLERS


ADMISSION_KINDS: Final = (
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
