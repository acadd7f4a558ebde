"""Live frames of the node grid: computed once for all viewers, sent as fast as each one reads.

A frame is ``length`` (uint32), ``layout version`` (uint64), then one byte a node. A viewer that
reads slowly gets the newest frame when it is ready for one, so it loses frames and costs no memory.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from typing import Final

from stretto.web.dashboard.requests import read
from stretto.web.dashboard.ticker import Ticker
from stretto.web.views.node_grid import NodeGrid, NodeLayout
from stretto.web.views.sight import ViewSource

INTERVAL: Final = 0.1
"""Seconds between two looks at the source: at most ten frames a second."""
_KEEP_ALIVE: Final = 5.0
"""Seconds after which the last frame is sent again, so that a dead connection is noticed."""
_HEAD: Final = struct.Struct("<IQ")


class FrameHub:
    """The grid of a source, with its newest frame by column."""

    def __init__(self, source: ViewSource, ticker: Ticker) -> None:
        """Serve the frames of a source.

        Args:
            source: the state that is shown.
            ticker: the times at which viewers look for a new frame.
        """
        self._source = source
        self._ticker = ticker
        self._grid: NodeGrid | None = None
        self._frames: dict[str, tuple[int, bytes]] = {}
        self._busy = asyncio.Lock()

    async def layout(self) -> NodeLayout:
        """Which byte of a frame is which node."""
        return (await self._current()).layout

    async def frame(self, column: str) -> bytes:
        """The newest frame of a column. It waits for no step unless nodes have changed."""
        version = self._source.version
        known = self._frames.get(column)
        if known is None or known[0] != version:
            grid = await self._current()
            cells = grid.frame(self._source.columns, column)
            known = version, _HEAD.pack(len(cells) + 8, grid.layout.version) + cells
            self._frames[column] = known
        return known[1]

    async def frames(self, column: str) -> AsyncIterator[bytes]:
        """Frames of a column while they differ, at most ten a second."""
        last, sent_at = b"", 0.0
        clock = asyncio.get_running_loop().time
        while True:
            frame = await self.frame(column)
            if frame != last or clock() - sent_at > _KEEP_ALIVE:
                last, sent_at = frame, clock()
                yield frame
            await self._ticker.wait()

    async def _current(self) -> NodeGrid:
        """The grid of the present nodes; made again when they change."""
        async with self._busy:
            grid = self._grid
            if grid is None or grid.layout.version != int(self._source.columns.nodes.version):
                grid = self._grid = await read(self._source, self._made)
                self._frames.clear()
            return grid

    def _made(self) -> NodeGrid:
        with self._source.open_nodes() as cluster:
            return NodeGrid(cluster)
