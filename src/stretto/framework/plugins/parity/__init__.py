"""kube-parity's forms of rules that it does not share with the default engine, one file each.

A form imports only its own rule and copies the declarations of that rule.
"""
