"""``stretto federation``: many clusters as one.

Here belong its verbs and the fleet that they read. Answers, planners and controllers do not.
"""
