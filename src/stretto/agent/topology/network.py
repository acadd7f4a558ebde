"""Network devices with hardware behind them, from ``/sys/class/net``."""

from pathlib import Path

import msgspec

from stretto.agent.files import read_number, read_text


class NetworkDevice(msgspec.Struct, frozen=True):
    """A network device."""

    #: Its name.
    name: str
    #: Speed in Mbit/s; 0 if the link is down or the speed unknown.
    speed_mbps: int
    #: NUMA node of its slot; -1 if it is unknown.
    numa: int
    #: True if it has a link.
    is_up: bool
    #: Number of virtual functions (SR-IOV).
    virtual_functions: int = 0


def read_network(root: Path) -> tuple[NetworkDevice, ...]:
    """Read the network devices of a machine by name.

    Virtual ones (bridges, tunnels) are skipped.
    """
    folder = root / "sys/class/net"
    try:
        paths = sorted(folder.iterdir())
    except OSError:
        return ()
    return tuple(_device(path) for path in paths if (path / "device").exists())


def _device(path: Path) -> NetworkDevice:
    speed = read_number(path / "speed", 0) or 0
    numa = read_number(path / "device/numa_node", -1)
    return NetworkDevice(
        path.name,
        max(speed, 0),
        -1 if numa is None else numa,
        read_text(path / "operstate") == "up",
        read_number(path / "device/sriov_totalvfs", 0) or 0,
    )
