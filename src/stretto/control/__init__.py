"""The loop that turns pending pods into bound ones.

Lives here: the pump (store to state), the lease, and three rooms that do not
import one another: dispatcher, scheduler, binder. They meet in `state`.
Must not: import capacity, federation or offers, join parts (that is `plane`), or
do I/O inside a decision.
"""
