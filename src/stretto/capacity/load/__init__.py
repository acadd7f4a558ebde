"""Load: the expected use of pods that no measurement includes yet."""
