"""POST of a new object."""

from stretto.web.api.call import Call
from stretto.web.api.failures import internal
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.naming import complete_object, place
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.writes import create_object


def create(state: ApiState, call: Call) -> ApiResponse:
    """Create an object."""
    item = complete_object(call)
    place(call, item)
    if item["metadata"].get("resourceVersion"):
        raise internal("resourceVersion should not be set on objects to be created")
    stored = create_object(state, call, item)
    return answer(state, call, stored, 201)
