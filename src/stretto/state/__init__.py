"""What Stretto knows of the cluster, in columns: the ledger all parts meet in.

Lives here: columns, classes, eligibility, devices, snapshots, units, claims and
verdicts, shares, the lifecycle tables, and the invariants that check them.
Must not: do I/O, read a clock, or choose a node. Dispatcher, scheduler and
binder meet here and nowhere else.
"""
