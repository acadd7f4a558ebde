"""Whether a plan may be: plan in, verdict out, then the bind.

Lives here: conflict detection (fit or version; incremental or all-or-nothing),
the actor of each host, and the writes of bindings in batches.
Must not: choose another node for a pod, or import the dispatcher or the
scheduler. The first claim wins and the loser is told why.
"""
