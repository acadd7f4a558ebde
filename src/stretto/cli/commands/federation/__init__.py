"""``stretto federation``: many clusters as one.

This package contains the verbs and the code that opens the fleet; answers, planners and controllers
are elsewhere.
"""
