"""The binder: checks plans for conflicts, charges claims and writes bindings.

It is the only writer of claims and never chooses another node for a pod.
"""
