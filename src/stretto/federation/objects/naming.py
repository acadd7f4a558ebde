"""Names of federated objects: the source's name and the name of its type."""

import re
from typing import Final

from stretto.federation.planner.hashes import fnv1

LONGEST: Final = 253
"""Maximum length of a name on an API server, in characters."""
_OTHER: Final = re.compile(r"[^a-z0-9.-]")


def federated_name(source: str, type_name: str) -> str:
    """The name of the federated object of a source.

    Characters that a name may not contain are replaced, and names that are too long are cut; both
    get a hash of the original, so that two sources never share a federated object.
    """
    clean = _OTHER.sub(".", source.lower())
    name = f"{clean}-{type_name}" if clean == source else f"{clean}-{type_name}-{fnv1(source)}"
    if len(name) <= LONGEST:
        return name
    mark = f"-{fnv1(name)}"
    return name[: LONGEST - len(mark)] + mark
