"""kube-parity's forms of rules that it does not share with the default engine, one file each.

A form imports its own rule, whose declarations it takes over, and no other.
"""
