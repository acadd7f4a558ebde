"""A local server as a program, to be killed: ``served_child.py FILE PORT``."""

import sys
from pathlib import Path

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.base.tokens import unique_seed
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.web.local.cluster import LocalParts
from stretto.web.local.keys import open_keys
from stretto.web.local.process import LocalOptions, serve_local


def main(path: Path, port: int) -> None:
    """Serve until killed; prints ``ready``."""
    clock, rng = WallClock(), Rng(unique_seed())
    store = SqliteStore(path, clock, rng, grouped=True)
    keys = open_keys(path.with_suffix(".keys"))
    options = LocalOptions(LocalParts(controllers=False), keys, path.with_suffix(".config"), port)
    serve_local(store, clock, rng, options, lambda *_: print("ready", flush=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
