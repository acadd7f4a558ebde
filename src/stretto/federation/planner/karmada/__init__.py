"""The planners of Karmada, with its rounding, ties and quirks.

This package contains functions whose results equal those of Karmada. Improved rules are in
`division`.
"""
