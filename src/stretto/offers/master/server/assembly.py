"""A master from its settings: allocator, state machine, file and host."""

from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import AllocatorSettings
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import CycleTime, Master
from stretto.offers.master.server.host import MasterHost
from stretto.offers.master.storage.contract import MasterJournal
from stretto.offers.master.storage.journal import MasterFile
from stretto.offers.master.storage.recovery import recover

FILE: Final = "master.db"
"""Name of the file with the state, in the work directory."""


class MasterHome:
    """The work directory of a master; without a directory no state is stored."""

    def __init__(self, directory: Path | None) -> None:
        """Open the file of the master, or create it.

        Raises:
            InputError: the directory or the file cannot be used.
        """
        self._file: MasterFile | None = None
        if directory is None:
            return
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError("--work-dir", str(directory), f"a directory: {error}") from error
        self._file = MasterFile(directory / FILE)

    def __enter__(self) -> "MasterHome":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def master_id(self, rng: Rng) -> str:
        """The id of the directory's last master, or a new one."""
        known = self._file.identity() if self._file is not None else None
        return known.id if known is not None else rng.uid()

    def host(
        self, settings: MasterSettings, allocation: AllocatorSettings, clock: Clock, rng: Rng
    ) -> MasterHost:
        """A master that continues from the stored state."""
        allocation = msgspec.structs.replace(
            allocation, interval=settings.allocation_interval, region=settings.region or None
        )
        master = Master(settings, make_allocator(rng, allocation), clock, rng, CycleTime.ON_CALL)
        if self._file is None:
            return MasterHost(master, clock)
        recover(master.state, self._file)
        return MasterHost(master, clock, MasterJournal(self._file, master.state))
