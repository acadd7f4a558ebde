"""The events that may let a refused pod fit, read from a whole decision.

A pod waits for the events of the first plugin that refused each node: while those plugins refuse,
an event that concerns another plugin cannot help. Where a plugin ended the cycle, its events alone
count.
"""

from typing import Final

from stretto.framework.model.status import StatusCode
from stretto.framework.parity.decision import Decision
from stretto.framework.plugins.table import PARITY_FILTERS
from stretto.state.work.units import Cure

_PLUGINS: Final = {plugin.NAME: plugin for plugin in PARITY_FILTERS}


def cures_of(decision: Decision) -> Cure:
    """Events that may let a pod fit that fits nowhere now."""
    if decision.preenqueue.code is not StatusCode.SUCCESS:
        return Cure.POD_CHANGED
    filtered = decision.filtered
    if filtered is None:
        return Cure.NODE_ADDED | Cure.POD_CHANGED
    if filtered.ended_by:
        ended = _PLUGINS[filtered.ended_by]
        return Cure.POD_CHANGED | (ended.CURES if ended.CYCLE_CURES is None else ended.CYCLE_CURES)
    found = Cure.POD_CHANGED
    if not filtered.inside.all():
        for name in filtered.narrowed_by:
            found |= _PLUGINS[name].CURES
    for name, _, _ in filtered.refusals():
        found |= _PLUGINS[name].CURES
    return found
