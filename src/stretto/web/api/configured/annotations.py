"""Annotations of audit events about the webhooks and policies that a request has passed."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from stretto.web.api.notes import RequestNotes

Json = dict[str, Any]

_WEBHOOK: Final = "webhook.admission.k8s.io/"
_VALIDATION: Final = "validation.policy.admission.k8s.io/validation_failure"
_LONGEST: Final = 10 << 10
"""Characters of an annotation of a policy."""


class PassedWebhook:
    """A webhook that a request passes, in the words of annotations."""

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
        """Return whether the webhook has changed the object."""
        value = {"configuration": self._configuration, "webhook": self._name, "mutated": mutated}
        self._notes.annotate(f"mutation.{_WEBHOOK}{self._place}", _text(value))

    def patched(self, patch: Sequence[Any]) -> None:
        """The operations of the webhook's patch."""
        value = {"configuration": self._configuration, "webhook": self._name, "patch": patch}
        text = _text({**value, "patchType": "JSONPatch"})
        self._notes.annotate_object(f"patch.{_WEBHOOK}{self._place}", text)

    def failed_open(self, word: str) -> None:
        """The webhook could not be called, and the request goes on; ``word`` is its purpose."""
        self._notes.annotate(f"failed-open.{word}.{_WEBHOOK}{self._place}", self._name)

    def stated(self, annotations: Mapping[str, str]) -> None:
        """The annotations in the webhook's answer."""
        for key, value in annotations.items():
            self._notes.annotate(f"{self._name}/{key}", value)


def place_of(index: int, *, is_second: bool = False) -> str:
    """Round and index of a webhook."""
    return f"round_{int(is_second)}_index_{index}"


def validation_failed(notes: RequestNotes, binding: Json, index: int, message: str) -> None:
    """A validation of a policy does not hold, and its binding states ``Audit``.

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
    """The annotations that policies state, with the values of all their bindings."""

    def __init__(self) -> None:
        """Without any."""
        self._values: dict[str, list[str]] = {}

    def add(self, policy: str, key: str, value: Any) -> None:
        """A value; one that is no text or empty is left out."""
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
