"""Rules of pods: containers, volumes, security, placement, and what an update may change."""
