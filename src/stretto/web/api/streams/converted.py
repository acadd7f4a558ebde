"""Objects of watches that a webhook converts: once per version, and selected afterwards."""

from collections.abc import Sequence
from typing import Any

from stretto.stores.store import Record
from stretto.web.api.call import Call
from stretto.web.api.objects.changes import shapes
from stretto.web.api.objects.views import RecordViews
from stretto.web.api.selection.options import Selection

Json = dict[str, Any]


def converted_items(call: Call, records: Sequence[Record], views: RecordViews) -> list[Json]:
    """Return the objects of records in a watch's version; new ones are converted in one review.

    Raises:
        PendingReviewsError: the webhook has not answered yet.
        ApiError: the conversion fails.
    """
    new = [each for each in records if views.converted(each, call.resource) is None]
    made = shapes(call, [views.item(each) for each in new])
    found = {id(each): item for each, item in zip(new, made, strict=True)}
    for each in new:
        views.keep_converted(each, call.resource, found[id(each)])
    call.request.memory.forget()
    return [
        found[id(each)] if id(each) in found else views.converted(each, call.resource) or {}
        for each in records
    ]


class ConvertedSelection:
    """The objects that a watch shows, selected by labels and fields in its version."""

    def __init__(self, selection: Selection) -> None:
        """Create a selection without objects."""
        self._selection = selection
        self._shown: dict[str, Json] = {}

    def follow(self, item: Json) -> None:
        """Record an object that the watch's client has, if it is selected."""
        if self._selection.matches(item):
            self._shown[item["metadata"]["uid"]] = item

    def change(self, word: str, item: Json) -> tuple[str, Json] | None:
        """Return a change in the view of the selection: its type and object.

        ``None`` if unaffected. An object that is no longer selected is deleted in its last selected
        state.
        """
        if self._selection.is_everything:
            return word, item
        uid = item["metadata"]["uid"]
        before = self._shown.pop(uid, None)
        if word != "DELETED" and self._selection.matches(item):
            self._shown[uid] = item
            return "ADDED" if before is None else "MODIFIED", item
        if before is None:
            return None
        version = item["metadata"]["resourceVersion"]
        return "DELETED", {**before, "metadata": {**before["metadata"], "resourceVersion": version}}
