"""The planners of Karmada, with its rounding, ties and quirks.

Here belong functions whose results equal those of Karmada. Better rules do not: they are in
`division`.
"""
