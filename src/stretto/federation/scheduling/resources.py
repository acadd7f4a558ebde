"""Names of resources that the scheduling of clusters reads."""

from typing import Final

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL: Final = "ephemeral-storage"
GPU: Final = "nvidia.com/gpu"

_PREFIXES: Final = ("hugepages-", "attachable-volumes-")
_QUOTA: Final = "requests."


def is_scalar(name: str) -> bool:
    """True if ``name`` is an extended resource, a huge page or a limit of volumes."""
    return name.startswith(_PREFIXES) or ("/" in name and not name.startswith(_QUOTA))
