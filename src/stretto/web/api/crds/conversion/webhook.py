"""The conversion of custom objects by a webhook.

A call is one review of all objects that a request needs in another version. The request is answered
again once the converter has answered; its memory keeps the converted objects, so that states of one
object before and after a write are converted once.
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
"""Seconds after which a call has failed, as in kube-apiserver."""
_KEPT: Final = ("name", "namespace", "labels", "annotations")
"""Metadata on which a converted object depends."""


class WebhookConversion:
    """Converts the objects of one definition."""

    def __init__(self, storage: ObjectStorage, draw: Callable[[], str], definition: Json) -> None:
        """A converter as a definition states it.

        Args:
            storage: the Services that a definition may reference.
            draw: yields identities of requests.
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
        """Objects in another version, with their own metadata except labels and annotations.

        Args:
            items: objects in other versions.
            api_version: group and version that they get.
            memory: the data that their request keeps between its attempts.

        Raises:
            PendingReviewsError: the converter has not answered yet.
            ApiError: it fails, or its answer cannot be used.
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
        """Objects as the converter answers them."""
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
        """The body of the converter's answer.

        Raises:
            PendingReviewsError: it has not answered yet.
            ConversionError: it cannot be called.
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
        """The key of an object with its new version, without the fields that the server assigns."""
        metadata = {name: item["metadata"].get(name) for name in _KEPT}
        return self._digest([self._identity, api_version, {**item, "metadata": metadata}])

    @staticmethod
    def _digest(content: Any) -> str:
        text = msgspec.json.encode(content, order="deterministic")
        return hashlib.sha256(text).hexdigest()
