"""The webhooks of admission: those that apply to a write, and their calls."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.configured.conversion import in_version
from stretto.web.api.configured.expressions import WriteExpressions, unmet_condition
from stretto.web.api.configured.matching import matched_resource
from stretto.web.api.state import ApiState
from stretto.web.api.webhooks.addresses import address_of, webhook_call
from stretto.web.api.webhooks.reviews import ReviewCall

Json = dict[str, Any]

_GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = Kind(
    _GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
"""Configurations of mutating webhooks."""
VALIDATING: Final = Kind(
    _GROUP,
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
"""Configurations of validating webhooks."""
REVIEWED_VERSIONS: Final = ("v1", "v1beta1")
"""Supported versions of reviews."""
_HARMLESS: Final = ("None", "NoneOnDryRun")
_DEFAULT_SECONDS: Final = 10


@dataclass(frozen=True)
class Hook:
    """One webhook."""

    #: Name of its configuration.
    configuration: str
    #: The webhook in the configuration.
    spec: Json
    #: True if the webhook may change objects.
    is_mutating: bool = False

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.spec.get("name", ""))

    @property
    def identity(self) -> tuple[str, str]:
        """Its unique key."""
        return self.configuration, self.name

    @property
    def fails_closed(self) -> bool:
        """Return whether a write is refused if the webhook cannot be called."""
        return bool(self.spec.get("failurePolicy", "Fail") == "Fail")

    @property
    def is_reinvoked(self) -> bool:
        """Return whether the webhook is called again if later admission changes the object."""
        return bool(self.spec.get("reinvocationPolicy") == "IfNeeded")

    @property
    def version(self) -> str:
        """Version of the reviews for the webhook."""
        stated = self.spec.get("admissionReviewVersions") or ()
        return next((each for each in stated if each in REVIEWED_VERSIONS), "v1")

    @property
    def seconds(self) -> int:
        """Timeout of a call in seconds."""
        return int(self.spec.get("timeoutSeconds") or _DEFAULT_SECONDS)


def hooks_of(state: ApiState, kind: Kind) -> list[Hook]:
    """Return the webhooks of a kind of configuration, in call order."""
    items = sorted(state.storage.views_of(kind), key=lambda item: str(item["metadata"]["name"]))
    return [
        Hook(item["metadata"]["name"], spec, kind == MUTATING)
        for item in items
        for spec in item.get("webhooks") or ()
    ]


def concerned(
    state: ApiState, attributes: WriteAttributes, hooks: list[Hook]
) -> Iterator[tuple[Hook, Kind]]:
    """Yield the webhooks that apply to a write, with the resource for which they match.

    Raises:
        ApiError: a match condition fails, or a dry run would have side effects.
    """
    expressions = WriteExpressions(state, attributes)
    for hook in hooks:
        kind = matched_resource(state, attributes, hook.spec, hook.spec.get("rules") or ())
        if kind is None:
            continue
        unmet, problem = unmet_condition(expressions, hook.spec.get("matchConditions") or ())
        if unmet or (problem and not hook.fails_closed):
            continue
        if problem:
            resource = attributes.admission.resource
            raise failures.forbidden(resource.group, resource.resource, attributes.name, problem)
        dry = attributes.admission.call.options.dry_run
        if dry and hook.spec.get("sideEffects") not in _HARMLESS:
            text = f'admission webhook "{hook.name}" does not support dry run'
            raise failures.bad_request(text)
        yield hook, kind


def review_call(
    state: ApiState, attributes: WriteAttributes, hook: Hook, kind: Kind
) -> tuple[ReviewCall, str]:
    """Return the call of a webhook about a write, and the uid that its answer must contain.

    Raises:
        AddressError: the webhook cannot be reached.
    """
    client = hook.spec.get("clientConfig") or {}
    address = address_of(state.storage, client)
    item = in_version(state, attributes, attributes.item, kind)
    old = in_version(state, attributes, attributes.old, kind)
    reviewed = attributes.kind if attributes.admission.shown is not None else kind
    request = {**attributes.request(reviewed, kind), "object": item, "oldObject": old}
    content = msgspec.json.encode([hook.identity, {**request, "object": _unowned(item)}])
    key = hashlib.sha256(content).hexdigest()
    uid = attributes.admission.call.request.memory.draw(key, state.rng.uid)
    review = {
        "kind": "AdmissionReview",
        "apiVersion": f"admission.k8s.io/{hook.version}",
        "request": {"uid": uid, **request},
    }
    sent = webhook_call(address, client, msgspec.json.encode(review), hook.seconds)
    return ReviewCall(key, sent), uid


def _unowned(item: Json | None) -> Json | None:
    """Return an object without managedFields, whose times differ between attempts."""
    if item is None:
        return None
    metadata = item.get("metadata") or {}
    kept = {key: each for key, each in metadata.items() if key != "managedFields"}
    return {**item, "metadata": kept}
