"""The ground floor: time, chance, errors and small containers.

Lives here: clocks, seeded randomness, the error tree, the table-driven state
machine, keyed heaps, literal registries. Each could be a library of its own.
Must not: import anything of Stretto, know a word of scheduling, or do I/O
(reading the clock aside).
"""
