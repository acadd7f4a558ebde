"""Rules between pods in the class-cached path: affinity, anti-affinity, spreading.

Lives here: keys and masks of nodes, constraints of classes compiled over tallies, a shard's view of
the counts, and the formulas in NumPy. The compiled kernels are ``framework.kernels_domains``.
Must not: look at pods (``state.domains`` counts them), or know a rule's name.
"""
