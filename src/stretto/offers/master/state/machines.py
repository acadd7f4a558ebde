"""Machines under maintenance: their mode, their schedule, and answers to inverse offers."""

from enum import Enum

from stretto.offers.messages.schema import Message

MachineKey = tuple[str, str]
"""Host name in lower case, and address."""


class MachineMode(Enum):
    """Mode of a machine."""

    #: In service.
    UP = "UP"
    #: Scheduled for maintenance.
    DRAINING = "DRAINING"
    #: Under maintenance; its agents are refused.
    DOWN = "DOWN"


def machine_key(machine: Message) -> MachineKey:
    """The key of a MachineID."""
    return machine.get("hostname", "").lower(), machine.get("ip", "")


def machine_message(key: MachineKey) -> Message:
    """The MachineID of a key."""
    hostname, ip = key
    fields = {"hostname": hostname, "ip": ip}
    return {name: value for name, value in fields.items() if value}


class Machines:
    """All machines with a schedule."""

    def __init__(self) -> None:
        #: Windows of the schedule, as messages.
        self.windows: list[Message] = []
        self._modes: dict[MachineKey, MachineMode] = {}

    def mode(self, key: MachineKey) -> MachineMode:
        """The mode of a machine."""
        return self._modes.get(key, MachineMode.UP)

    def in_mode(self, mode: MachineMode) -> list[MachineKey]:
        """Machines in a mode."""
        return [key for key, each in self._modes.items() if each is mode]

    def unavailability(self, key: MachineKey) -> Message | None:
        """The planned maintenance of a machine."""
        for window in self.windows:
            if any(machine_key(each) == key for each in window.get("machine_ids", ())):
                found: Message = window["unavailability"]
                return found
        return None

    def schedule(self, windows: list[Message]) -> None:
        """Replace the schedule; machines that are down stay down."""
        self.windows = windows
        scheduled = {machine_key(each) for window in windows for each in window["machine_ids"]}
        down = set(self.in_mode(MachineMode.DOWN))
        self._modes = {
            key: MachineMode.DOWN if key in down else MachineMode.DRAINING
            for key in sorted(scheduled)
        }

    def start(self, key: MachineKey) -> None:
        """Set a machine to DOWN."""
        self._modes[key] = MachineMode.DOWN

    def stop(self, key: MachineKey) -> None:
        """Remove a machine from the schedule, and set it to UP."""
        self._modes.pop(key, None)
        left = []
        for window in self.windows:
            kept = [each for each in window["machine_ids"] if machine_key(each) != key]
            if kept:
                left.append(window | {"machine_ids": kept})
        self.windows = left
