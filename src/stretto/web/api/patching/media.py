"""Media types of patches."""

from typing import Final

from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError
from stretto.web.api.objects.json_text import check_size
from stretto.web.api.objects.reading import media_type

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

_PATCH_OPTIONS: Final = Kind("meta.k8s.io", "v1", "PatchOptions", "")


def patch_type(call: Call) -> str:
    """Return the media type of a patch.

    Raises:
        ApiError: the media type is not served, or the options do not match it.
    """
    check_size(call.request.body)
    media = served_media(call)
    causes = []
    if media == APPLY_PATCH and not call.options.manager:
        text = "Required value: is required for apply patch"
        causes.append(("FieldValueRequired", text, "fieldManager"))
    if media != APPLY_PATCH and call.options.force is not None:
        text = "Forbidden: may not be specified for non-apply patch"
        causes.append(("FieldValueForbidden", text, "force"))
    if causes:
        raise failures.invalid(_PATCH_OPTIONS, "", causes)
    return media


def served_media(call: Call) -> str:
    """Return the media type of a patch, before its options are read.

    Raises:
        ApiError: the media type is not served.
    """
    media = media_type(call.request.header("content-type"))
    is_custom = call.resource.definition is not None
    served = [JSON_PATCH, MERGE_PATCH, *([] if is_custom else [STRATEGIC_PATCH]), APPLY_PATCH]
    if media in served:
        return media
    text = "the body of the request was in an unknown format - accepted media types include: "
    if is_custom:
        raise ApiError(415, "UnsupportedMediaType", text + ", ".join(served))
    raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
