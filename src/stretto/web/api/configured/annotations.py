"""Annotations of audit events about the webhooks and policies of a request."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stretto.web.api.notes import RequestNotes

Json = dict[str, Any]

_WEBHOOK: Final = "webhook.admission.k8s.io/"
_VALIDATION: Final = "validation.policy.admission.k8s.io/validation_failure"
_LONGEST: Final = 10 << 10
"""Maximum characters of an annotation of a policy."""


class PassedWebhook:
    """Annotations about one webhook that a request passes."""

    def __init__(self, notes: RequestNotes, names: tuple[str, str], place: str) -> None:
        """Annotate the events of a request.

        Args:
            notes: the annotations of its events.
            names: name of the configuration and of the webhook.
            place: round and index of the webhook.
        """
        self._notes = notes
        self._configuration, self._name = names
        self._place = place

    def changed(self, *, mutated: bool) -> None:
        """Annotate whether the webhook has changed the object."""
        value = {"configuration": self._configuration, "webhook": self._name, "mutated": mutated}
        self._notes.annotate(f"mutation.{_WEBHOOK}{self._place}", _text(value))

    def patched(self, patch: Sequence[Any]) -> None:
        """Annotate the operations of the webhook's patch."""
        value = {"configuration": self._configuration, "webhook": self._name, "patch": patch}
        text = _text({**value, "patchType": "JSONPatch"})
        self._notes.annotate_object(f"patch.{_WEBHOOK}{self._place}", text)

    def failed_open(self, word: str) -> None:
        """Annotate that the webhook could not be called and fails open; ``word`` is its purpose."""
        self._notes.annotate(f"failed-open.{word}.{_WEBHOOK}{self._place}", self._name)

    def stated(self, annotations: Mapping[str, str]) -> None:
        """Add the annotations in the webhook's answer."""
        for key, value in annotations.items():
            self._notes.annotate(f"{self._name}/{key}", value)


def place_of(index: int, *, is_second: bool = False) -> str:
    """Format round and index of a webhook."""
    return f"round_{int(is_second)}_index_{index}"


def validation_failed(notes: RequestNotes, binding: Json, index: int, message: str) -> None:
    """Annotate a failed validation of a policy whose binding contains the action ``Audit``.

    Args:
        notes: the annotations of the events of the request.
        binding: the binding.
        index: number of the validation in the policy.
        message: its message.
    """
    failure = {
        "message": message,
        "policy": binding["spec"].get("policyName", ""),
        "binding": binding["metadata"]["name"],
        "expressionIndex": index,
        "validationActions": binding["spec"].get("validationActions") or [],
    }
    notes.annotate(_VALIDATION, _text([failure]))


class PolicyAnnotations:
    """The audit annotations of policies, with the values for all their bindings."""

    def __init__(self) -> None:
        """Create an empty set of annotations."""
        self._values: dict[str, list[str]] = {}

    def add(self, policy: str, key: str, value: Any) -> None:
        """Add a value; ignore a value that is empty or not a text."""
        text = value.strip()[:_LONGEST] if isinstance(value, str) else ""
        values = self._values.setdefault(f"{policy}/{key}", [])
        if text and text not in values:
            values.append(text)

    def publish(self, notes: RequestNotes) -> None:
        """Annotate the events of a request."""
        for key, values in self._values.items():
            if values:
                notes.annotate(key, ", ".join(values))


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
