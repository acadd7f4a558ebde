"""How a slot is judged: the plugin contract and the machine that runs it.

Lives here: contract, profile, tie rules, runtime, and the kernels in two tiers
(NumPy always, numba where installed) that must give equal results.
Must not: do I/O, keep a clock, know queues or shards. A verdict is a value with
reasons; an exception is a bug.
"""
