"""How much more fits on a state, and how few nodes hold what it runs, by trials of the scheduler.

Here belong changes of a copied state and searches over trials. Models of use do not.
"""
