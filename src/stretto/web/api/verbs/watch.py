"""GET with ``watch``: the changes of a collection as a stream."""

from stretto.web.api.call import Call
from stretto.web.api.encoding import JSON, YAML
from stretto.web.api.message import NO_CACHE, ApiStream
from stretto.web.api.negotiation import STREAMED, not_acceptable, warning_headers
from stretto.web.api.selection.options import selected_version, selection_of
from stretto.web.api.state import ApiState
from stretto.web.api.streams.events import EventStream
from stretto.web.api.streams.plan import StreamPlan
from stretto.web.api.tables.rows import included
from stretto.web.api.verbs.answers import accept


def watch(state: ApiState, call: Call) -> ApiStream:
    """Watch a collection."""
    selection = selection_of(call)
    accepted = accept(call)
    version = selected_version(selection.version, watches=True)
    if accepted.form == "Table":
        included(call)
    if accepted.media == YAML:
        raise not_acceptable(STREAMED)
    listing = state.storage.listing(call.resource.stored)
    starts_now = version == 0 or selection.initial_events is True
    initial = listing.records if starts_now and selection.initial_events is not False else ()
    since = listing.version if starts_now else min(version, listing.version)
    plan = StreamPlan(selection, accepted, initial, since, version, starts_now=starts_now)
    stream = EventStream(state, call, plan)
    if selection.timeout < 0:
        stream.close()
    return ApiStream(
        200,
        _streamed(accepted.media),
        stream.poll,
        stream.call_once,
        stream.close,
        selection.timeout,
        {**NO_CACHE, **warning_headers(call.warnings)},
        stream.is_due,
        stream.join,
        stream.leave,
    )


def _streamed(media: str) -> str:
    """Return the media type of a stream; all except JSON have the parameter ``stream``."""
    return media if media == JSON else f"{media};stream=watch"
