"""The options of lists and watches that select one of several equal parts of the objects.

``shardingCount=4&shardingIndex=1&shardingLabelKey=app`` selects the objects for which the hash of
the value of the label ``app``, modulo 4, is 1. ``hashFunction`` names the function.
"""

from typing import Final

from stretto.api.checks.fields.errors import quoted
from stretto.api.checks.fields.texts import label_key
from stretto.api.wire.selectors import integer
from stretto.api.wire.shards import ObjectShard, ShardHash
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.message import ApiRequest

_COUNT: Final = "shardingCount"
_INDEX: Final = "shardingIndex"
_LABEL: Final = "shardingLabelKey"
_HASH: Final = "hashFunction"
_MOST: Final = 1 << 16
"""Maximum number of parts."""


def parse_part(request: ApiRequest) -> ObjectShard | None:
    """Parse the part that a request selects; ``None`` without these options.

    Raises:
        ApiError: an option is malformed, or one is missing.
    """
    given = [name for name in (_COUNT, _INDEX, _LABEL, _HASH) if name in request.query]
    if not given:
        return None
    for name in (_COUNT, _INDEX):
        if not request.parameter(name):
            raise bad_request(f"{name}: Required value: {given[0]} needs it")
    count = _number(request, _COUNT, 1, _MOST)
    index = _number(request, _INDEX, 0, count - 1)
    return ObjectShard(count, index, _label(request), _function(request))


def _number(request: ApiRequest, name: str, least: int, most: int) -> int:
    """Parse a number within bounds."""
    text = request.parameter(name)
    found = integer(text)
    if found is None or not least <= found <= most:
        raise _invalid(name, text, f"must be an integer from {least} to {most}")
    return found


def _label(request: ApiRequest) -> str:
    """Parse the key of the label; empty for none."""
    text = request.parameter(_LABEL)
    problems = label_key(text) if text else ()
    if problems:
        raise _invalid(_LABEL, text, "; ".join(problems))
    return text


def _function(request: ApiRequest) -> ShardHash:
    """Parse the name of the hash function."""
    text = request.parameter(_HASH)
    try:
        return ShardHash(text) if text else ShardHash.CRC32
    except ValueError as error:
        known = ", ".join(quoted(each.value) for each in ShardHash)
        problem = f"{_HASH}: Unsupported value: {quoted(text)}: supported values: {known}"
        raise bad_request(problem) from error


def _invalid(name: str, text: str, problem: str) -> ApiError:
    return bad_request(f"{name}: Invalid value: {quoted(text)}: {problem}")
