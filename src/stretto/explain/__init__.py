"""Why: reasons in words, with what would cure them.

Lives here: reason codes and their tiers, why-not for a pod and a node, score
parts, and the run record that lets it answer after the run has ended.
Must not: change anything. It reads state, framework and read-only views of
control, and it never joins parts or drives a plane.
"""
