"""A federation in one process: an embedded host, members with planes, virtual or real time."""
