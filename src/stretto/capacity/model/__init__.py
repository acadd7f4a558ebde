"""Words that every model shares: classes of pods and amounts of resources.

Here belong value types. Formulas do not.
"""
