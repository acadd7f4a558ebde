"""Simulated containers: their run time and exit code, derived from their command.

No command is executed. A container ends if its command is a known short command: ``sleep 30`` ends
after 30 s, and ``sh -c "sleep 5; exit 3"`` after 5 s with the code 3.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from stretto.reconcile.cache import Fields
from stretto.workloads.kubelet.scripts import Ending, script_ending

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
_SECONDS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SERVERS: Final = frozenset(
    {"agnhost", "caddy", "etcd", "haproxy", "httpd", "mariadb", "memcached", "mongo", "mysql"}
    | {"nats", "nginx", "pause", "postgres", "rabbitmq", "redis", "registry", "traefik"}
)
"""Images whose default command is a server, which runs until it is stopped."""
_ABSENT: Final = re.compile(r"^404$|non-?existent|does-?not-?exist|no-such")
"""Pattern of image names and tags that declare that the image does not exist."""


NEVER: Final = Ending(float("inf"))
"""End of a command that runs until it is stopped."""


NO_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({})
"""Environment without variables."""


def is_absent(image: str) -> bool:
    """Return whether an image cannot be pulled because its name or tag declares it absent."""
    name, _, tag = image.rpartition("/")[2].partition(":")
    return any(_ABSENT.search(word) is not None for word in (name, tag))


def ending_of(container: Fields, variables: Mapping[str, str] = NO_VARIABLES) -> Ending | None:
    """The end of a container; ``None`` if its command is unknown.

    Args:
        container: the container.
        variables: its environment.
    """
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    image = str(container.get("image", "")).rpartition("/")[2].partition(":")[0]
    if image in _SERVERS and not container.get("command"):
        return NEVER
    return command_ending(words, variables)


def command_ending(
    words: Sequence[str], variables: Mapping[str, str] = NO_VARIABLES
) -> Ending | None:
    """The end of a command with its arguments; ``None`` if the command is unknown."""
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if name in _SHELLS and len(words) > 2 and re.fullmatch(r"-[a-z]*c", words[1]):
        return script_ending(words[2], variables, command_ending)
    known = _COMMANDS.get(name)
    return None if known is None else known(words[1:])


def _sleep(words: Sequence[str]) -> Ending | None:
    if "infinity" in words:
        return NEVER
    parts = [re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", word) for word in words]
    found = [each for each in parts if each is not None]
    if not found or len(found) < len(parts):
        return None
    return Ending(sum(float(each[1]) * _SECONDS[each[2]] for each in found))


def _tail(words: Sequence[str]) -> Ending:
    return NEVER if "-f" in words or "-F" in words else Ending(0.0)


_COMMANDS: Final[Mapping[str, Callable[[Sequence[str]], Ending | None]]] = {
    "sleep": _sleep,
    "tail": _tail,
    "pause": lambda _: NEVER,
    "true": lambda _: Ending(0.0),
    ":": lambda _: Ending(0.0),
    "false": lambda _: Ending(0.0, 1),
    "echo": lambda _: Ending(0.0),
    "printf": lambda _: Ending(0.0),
    "date": lambda _: Ending(0.0),
    "env": lambda words: None if words else Ending(0.0),
    "hostname": lambda _: Ending(0.0),
}
"""Known commands, by name."""
