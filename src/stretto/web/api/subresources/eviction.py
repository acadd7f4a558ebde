"""Eviction of a pod within its disruption budget."""

from typing import Final

import msgspec
from msgspec.structs import replace

from stretto.api.schema.kubernetes import struct
from stretto.api.wire.kinds import Kind
from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request
from stretto.web.api.message import ApiResponse
from stretto.web.api.negotiation import encoded
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.subresources.binding import SUCCESS, admit_part
from stretto.web.api.subresources.budgets import charge, is_free, targeted
from stretto.web.api.subresources.typed import read_typed
from stretto.web.api.verbs.answers import accept
from stretto.web.api.verbs.removal import (
    DeleteOptions,
    check_dry_run,
    check_options,
    check_preconditions,
    remove_admitted,
)

_KIND: Final = Kind("policy", "v1", "Eviction", "evictions")


def eviction(state: ApiState, call: Call) -> ApiResponse:
    """Evict a pod."""
    accepted = accept(call)
    wanted = read_typed(call, _KIND, struct("policy/v1.Eviction"))
    name = (wanted.get("metadata") or {}).get("name", "")
    if name != call.route.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = msgspec.convert(wanted.get("deleteOptions") or {}, DeleteOptions)
    check_dry_run(call, options)
    if options.dry_run:
        call.options = replace(call.options, dry_run=True)
    found = state.storage.get(call.resource, call.route.namespace, name)
    admit_part(state, AdmittedWrite(call, "CREATE", None, None, "eviction", wanted, None, _KIND))
    if not is_free(found.item):
        charge(state, call, found)
    check_options(options)
    check_preconditions(call, found, options)
    remove_admitted(state, call, targeted(state, call, found), _after_condition(options))
    return encoded(SUCCESS, accepted, 201, call.warnings)


def _after_condition(options: DeleteOptions) -> DeleteOptions:
    """Return the deletion's options, with a precondition on the pod including its condition."""
    kept = {key: each for key, each in (options.preconditions or {}).items() if key == "uid"}
    return msgspec.structs.replace(options, preconditions=kept or None)
