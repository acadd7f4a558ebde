"""Live frames of the node grid, computed once for all viewers.

A frame is ``length`` (uint32), ``layout version`` (uint64), then one byte per node.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from stretto.serving.broadcast.broadcaster import Message
from stretto.web.dashboard.requests import read
from stretto.web.dashboard.ticker import Ticker
from stretto.web.views.node_grid import NodeGrid
from stretto.web.views.state import ViewSource

INTERVAL: Final = 0.1
"""Seconds between two checks of the source: at most ten frames per second."""
_KEEP_ALIVE: Final = 5.0
"""Seconds after which the last frame is sent again, so that a dead connection is detected."""
_HEAD: Final = struct.Struct("<IQ")


class FrameHub:
    """The grid of a source, with its newest frame for each column."""

    def __init__(self, source: ViewSource, ticker: Ticker) -> None:
        """Serve the frames of a source.

        Args:
            source: the state that is shown.
            ticker: the times at which viewers check for a new frame.
        """
        self._source = source
        self._ticker = ticker
        self._grid: NodeGrid | None = None
        self._layout = b""
        self._busy = asyncio.Lock()

    async def layout(self) -> bytes:
        """Return the mapping from bytes of a frame to nodes, as JSON."""
        grid = await self._current()
        if not self._layout:
            self._layout = msgspec.json.encode(grid.layout)
        return self._layout

    async def frame(self, column: str) -> bytes:
        """Return the newest frame of a column; wait for a step only if nodes have changed."""
        grid = await self._current()
        cells = grid.frame(self._source.columns, column)
        return _HEAD.pack(len(cells) + 8, grid.layout.version) + cells

    async def frames(self, column: str) -> AsyncIterator[Message]:
        """Yield changed frames of a column, at most ten per second."""
        version, last, sent_at = -1, b"", 0.0
        clock = asyncio.get_running_loop().time
        while True:
            now = self._source.version
            frame = last if now == version else await self.frame(column)
            version = now
            if frame != last or clock() - sent_at > _KEEP_ALIVE:
                last, sent_at = frame, clock()
                yield Message(frame)
            await self._ticker.wait()

    async def _current(self) -> NodeGrid:
        """Return the grid of the current nodes; it is rebuilt when they change."""
        async with self._busy:
            grid = self._grid
            if grid is None or grid.layout.version != int(self._source.columns.nodes.version):
                grid = self._grid = await read(self._source, self._made)
                self._layout = b""
            return grid

    def _made(self) -> NodeGrid:
        with self._source.open_nodes() as cluster:
            return NodeGrid(cluster)
