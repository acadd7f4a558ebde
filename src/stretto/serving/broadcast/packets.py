"""Protocol between a server and its broadcasting process, over one Unix socket.

The server sends packets: a head, then data. A connection is sent as a file descriptor next to its
head. The process answers with the channel number of each connection that has ended. This module
uses only the standard library, so that the process starts quickly and stays small.
"""

import struct
from enum import IntEnum
from typing import Final


class Packet(IntEnum):
    """Type of a packet."""

    #: A connection joins a channel.
    JOIN = 1
    #: A message for all connections of a channel, also for those that join before the next one.
    NEWEST = 2
    #: A message only for the current connections of a channel.
    PASSING = 3
    #: A channel ends, together with its connections.
    END = 4


HEAD: Final = struct.Struct("<BIQ")
"""Type, channel number, and number of bytes of the data."""
ENDED: Final = struct.Struct("<I")
"""Channel number of a connection that has ended."""
