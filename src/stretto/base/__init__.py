"""Generic building blocks: clocks, seeded randomness, the error tree, state machines, registries.

Nothing here knows about scheduling, imports another part of Stretto or does I/O, except that
`clock` reads the time.
"""
