"""Eviction of a pod within its disruption budget."""

from dataclasses import replace
from typing import Final

import msgspec

from stretto.api.schema.kubernetes import struct
from stretto.api.wire.kinds import Kind
from stretto.web.api.call import Call
from stretto.web.api.failures import bad_request, no_method
from stretto.web.api.message import ApiResponse
from stretto.web.api.negotiation import encoded
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.binding import SUCCESS
from stretto.web.api.subresources.budgets import charge, is_free
from stretto.web.api.subresources.typed import read_typed
from stretto.web.api.verbs.answers import accept
from stretto.web.api.verbs.removal import DeleteOptions, remove

_KIND: Final = Kind("policy", "v1", "Eviction", "evictions")


def eviction(state: ApiState, call: Call) -> ApiResponse:
    """Evict a pod."""
    if call.verb != "create":
        raise no_method()
    wanted = read_typed(call, _KIND, struct("policy/v1.Eviction"))
    name = (wanted.get("metadata") or {}).get("name", "")
    if name != call.route.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = msgspec.convert(wanted.get("deleteOptions") or {}, DeleteOptions)
    if options.dry_run:
        call.options = replace(call.options, dry_run=True)
    found = state.storage.get(call.resource, call.route.namespace, name)
    if not is_free(found.item):
        charge(state, call, found)
    remove(state, call, found, options)
    return encoded(SUCCESS, accept(call, ()), 201, call.warnings)
