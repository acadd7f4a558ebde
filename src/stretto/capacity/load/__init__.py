"""Load: expected use of pods, and rounds in which a node is overloaded."""
