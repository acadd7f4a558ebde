"""Conversion of a write before anything is stored.

A request that waits for a converter is processed again from its start. Therefore it converts the
stored and the returned object before its first write; afterwards its memory contains both.
"""

from typing import Final

from stretto.web.api.objects.changes import canonical, shape
from stretto.web.api.state import AdmittedWrite, ApiState

_UID: Final = "uid of a new object"


def convert_write(state: ApiState, admission: AdmittedWrite) -> None:
    """Convert the object that is stored next.

    Raises:
        PendingReviewsError: the converter has not answered yet.
        ApiError: the conversion fails.
    """
    call, item = admission.call, admission.item
    if item is None or call.resource.conversion is None:
        return
    metadata = item["metadata"]
    if admission.operation == "CREATE":
        uid = call.request.memory.draw(_UID, state.rng.uid)
        metadata = {**metadata, "uid": uid, "creationTimestamp": state.now}
    shape(call, canonical(call, {**item, "metadata": metadata}))
