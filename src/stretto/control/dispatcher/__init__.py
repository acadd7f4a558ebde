"""The dispatcher: forms units from pods, orders them and sends them to shards.

It never reads the free resources of a node.
"""
