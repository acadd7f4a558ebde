"""Dispatch of a call to the function of its verb."""

from stretto.web.api.authz.reviews import is_review, review
from stretto.web.api.call import STREAMED_PARTS, Call, write_options
from stretto.web.api.discovery.methods import check_method
from stretto.web.api.message import Answer
from stretto.web.api.patching.media import served_media
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.table import subresource
from stretto.web.api.verbs.answers import accept
from stretto.web.api.verbs.delete import delete_collection
from stretto.web.api.verbs.reads import READS, read
from stretto.web.api.verbs.table import WRITES


def dispatch(state: ApiState, call: Call, snapshots: Snapshots) -> Answer:
    """Answer a call.

    Raises:
        ApiError: the path or the method is not served, or the request fails.
        PlainError: the path is not served.
    """
    route, verb = call.route, call.verb
    check_method(call)
    if verb == "patch":
        served_media(call)
    if route.subresource not in STREAMED_PARTS:
        accept(call)
    if route.subresource or call.resource.key == ("", "Binding"):
        return subresource(state, call)
    if is_review(call) and verb == "create":
        call.options = write_options(call.request, verb)
        return review(state, call)
    if verb in READS:
        return read(state, call, snapshots)
    if verb == "deletecollection":
        return delete_collection(state, call, snapshots)
    if not verb.startswith("delete"):
        call.options = write_options(call.request, verb)
    return WRITES[verb](state, call)
