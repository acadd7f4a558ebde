"""Where a unit could go: snapshot in, plan out.

Lives here: one cycle for a unit, gang placement (enough or nothing, and no trace
left), and the loop that runs cycles.
Must not: write to a store, change the shared ledger other than through claims,
or import the dispatcher or the binder.
"""
