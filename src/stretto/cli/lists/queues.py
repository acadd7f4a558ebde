"""Queues for ``stretto get``."""

from typing import TYPE_CHECKING

from stretto.cli.lists.request import GetOptions, require_names
from stretto.cli.options import CommandContext

if TYPE_CHECKING:
    from stretto.cli.output.formats import ListedRows


def listed_queues_of(common: CommandContext, opts: GetOptions) -> "ListedRows":
    """Return the queues of a state.

    Raises:
        NotFoundError: a named queue is missing.
    """
    import msgspec

    from stretto.cli.lists.columns import listed_queues
    from stretto.cli.sources.states import read_state
    from stretto.explain.inventory.lists import QueueList
    from stretto.explain.why.queues import with_implicit_queues
    from stretto.plane.copy import PlaneCopy

    state = read_state(common, opts).state
    copy = PlaneCopy(state.counting_use())
    copy.look()
    found = with_implicit_queues(copy.plane.dispatcher.views.queues(), state.records)
    names = {each.removeprefix("queue/") for each in opts.names}
    rows = [each for each in found if not names or each.name in names]
    rows = [each for each in rows if each.pending or not opts.pending]
    require_names(common, "queue", [each.name for each in rows], opts)
    return listed_queues(rows, msgspec.to_builtins(QueueList(state.title, tuple(rows))))
