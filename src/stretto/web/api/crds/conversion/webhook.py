"""Conversion of custom objects by a webhook.

A call is one review of all objects that a request needs in another version. After the converter has
answered, the request is processed again. The request's memory keeps the converted objects, so that
states of one object before and after a write are converted once.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from stretto.web.api.crds.conversion.metadata import restored
from stretto.web.api.crds.conversion.reviews import (
    REVIEW,
    ConversionError,
    ConversionRequest,
    converted_objects,
)
from stretto.web.api.failures import internal
from stretto.web.api.storage import ObjectStorage
from stretto.web.api.webhooks.addresses import (
    AddressError,
    address_of,
    service_url,
    timed,
    webhook_call,
)
from stretto.web.api.webhooks.problems import call_problem
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall, ReviewMemory

Json = dict[str, Any]

_SECONDS: Final = 30
"""Timeout of a call in seconds, as in kube-apiserver."""
_KEPT: Final = ("name", "namespace", "labels", "annotations")
"""Metadata that may affect a converted object."""


class WebhookConversion:
    """Converter of the objects of one definition."""

    def __init__(self, storage: ObjectStorage, draw: Callable[[], str], definition: Json) -> None:
        """Create the converter of a definition.

        Args:
            storage: the Services that a definition may reference.
            draw: returns identities of requests.
            definition: the definition.
        """
        hook = definition["spec"]["conversion"].get("webhook") or {}
        metadata = definition["metadata"]
        self._storage = storage
        self._draw = draw
        self._client: Json = hook.get("clientConfig") or {}
        self._identity = [metadata.get("uid", ""), metadata.get("generation", 0)]
        stated = hook.get("conversionReviewVersions") or ()
        self._version = next((each for each in stated if each in REVIEW.versions), "")

    def convert(self, items: Sequence[Json], api_version: str, memory: ReviewMemory) -> list[Json]:
        """Convert objects to another version; metadata stays, except labels and annotations.

        Args:
            items: objects in other versions.
            api_version: group and version of the result.
            memory: the data that their request keeps between its attempts.

        Raises:
            PendingReviewsError: the converter has not answered yet.
            ApiError: the converter fails, or its answer is invalid.
        """
        keys = [self._key(each, api_version) for each in items]
        new = [
            (key, each)
            for key, each in zip(keys, items, strict=True)
            if key not in memory.converted
        ]
        if new:
            found = self._called([each for _, each in new], api_version, memory)
            memory.converted.update(zip((key for key, _ in new), found, strict=True))
        return [
            restored(each, memory.converted[key]) for key, each in zip(keys, items, strict=True)
        ]

    def _called(self, items: Sequence[Json], api_version: str, memory: ReviewMemory) -> list[Json]:
        """Return objects as converted by the webhook."""
        if not self._version:
            raise internal("no supported conversion review versions")
        key = self._digest([self._key(each, api_version) for each in items])
        request: ConversionRequest = memory.requests.setdefault(
            key, ConversionRequest(items, api_version, self._draw(), self._version)
        )
        try:
            return converted_objects(self._answer(request, key, memory), request)
        except ConversionError as error:
            raise internal(str(error)) from error

    def _answer(self, request: ConversionRequest, key: str, memory: ReviewMemory) -> bytes:
        """Return the body of the converter's answer.

        Raises:
            PendingReviewsError: the converter has not answered yet.
            ConversionError: the converter cannot be called.
        """
        try:
            address = address_of(self._storage, self._client)
        except AddressError as error:
            url = timed(service_url(self._client.get("service") or {}), _SECONDS)
            raise ConversionError(f'{request.head} failed: Post "{url}": {error}') from error
        call = webhook_call(address, self._client, request.body, _SECONDS)
        found = memory.answers.get(key)
        if found is None:
            raise PendingReviewsError([ReviewCall(key, call)])
        problem = call_problem(call, found)
        if problem:
            raise ConversionError(f"{request.head} failed: {problem}")
        return found.body

    def _key(self, item: Json, api_version: str) -> str:
        """Key of an object with its new version, without the fields that the server assigns."""
        metadata = {name: item["metadata"].get(name) for name in _KEPT}
        return self._digest([self._identity, api_version, {**item, "metadata": metadata}])

    @staticmethod
    def _digest(content: Any) -> str:
        text = msgspec.json.encode(content, order="deterministic")
        return hashlib.sha256(text).hexdigest()
