"""DELETE of one object or of a collection."""

from typing import Any, Final

from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.message import Answer, ApiResponse
from stretto.web.api.objects.changes import RETURNED, shape, shapes
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import accept, answer
from stretto.web.api.verbs.lists import page_of
from stretto.web.api.verbs.options import read_options
from stretto.web.api.verbs.pages import list_answer
from stretto.web.api.verbs.removal import DeleteOptions, remove, review_removals

Json = dict[str, Any]

_KEEP_CHILDREN: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


def delete(state: ApiState, call: Call) -> ApiResponse:
    """Delete an object, or mark it until its finalizers and its grace period have ended."""
    options = read_options(call)
    route, resource = call.route, call.resource
    _warn_of_children(call, options)
    found = state.storage.get(resource, route.namespace, route.name)
    shape(call, found.item)  # the converter is called before the object is deleted
    last, gone = remove(state, call, found, options)
    if not gone:
        return answer(state, call, shape(call, last), 200)
    if resource.key in RETURNED:
        return answer(state, call, shape(call, last))
    details = failures.details_of(resource.group, resource.resource, route.name)
    details["uid"] = found.record.uid
    status: Json = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    return answer(state, call, status)


def _warn_of_children(call: Call, options: DeleteOptions) -> None:
    """Warn that pods of deleted Jobs are kept, unless the request states what becomes of them."""
    is_stated = options.propagation_policy or options.orphan_dependents is not None
    if call.resource.key == ("batch", "Job") and not is_stated:
        call.warnings.append(_KEEP_CHILDREN)


def delete_collection(state: ApiState, call: Call, snapshots: Snapshots) -> Answer:
    """Delete the selected objects, or a page of them; return them as a list."""
    options = read_options(call)
    _warn_of_children(call, options)
    page = page_of(state, call, snapshots)
    found = [
        state.storage.find(call.resource.stored, each.namespace, each.name) for each in page.records
    ]
    present = [each for each in found if each is not None]
    if call.resource.conversion is not None:
        shapes(call, [each.item for each in present])
    review_removals(state, call, present)
    for stored in present:
        remove(state, call, stored, options)
    return list_answer(state, call, page, accept(call))
