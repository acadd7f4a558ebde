"""The verbs that write, by name."""

from collections.abc import Callable, Mapping
from typing import Final

from stretto.web.api.call import Call
from stretto.web.api.message import ApiResponse
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.create import create
from stretto.web.api.verbs.delete import delete
from stretto.web.api.verbs.patch import patch
from stretto.web.api.verbs.update import update

WRITES: Final[Mapping[str, Callable[[ApiState, Call], ApiResponse]]] = {
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
}
"""Functions by verb."""
