"""What a server and its broadcasting process send each other, over one Unix socket.

The server sends packets: a head, then data. A connection travels as a descriptor next to its head.
The process answers with the number of a channel for each connection that has ended. This module
uses the standard library alone, so that the process starts quickly and stays small.
"""

import struct
from enum import IntEnum
from typing import Final


class Packet(IntEnum):
    """The kinds of packets."""

    #: A connection joins a channel.
    JOIN = 1
    #: A message for all connections of a channel, and for those that join before the next one.
    NEWEST = 2
    #: A message for the present connections of a channel.
    PASSING = 3
    #: A channel ends, with its connections.
    END = 4


HEAD: Final = struct.Struct("<BIQ")
"""Kind, number of the channel, and bytes of the data."""
ENDED: Final = struct.Struct("<I")
"""Number of the channel of a connection that has ended."""
