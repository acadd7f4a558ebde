"""Rules of pods: containers, volumes, security, placement, and updates."""
