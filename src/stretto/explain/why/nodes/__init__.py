"""Why no node accepts a pod: reasons as sentences. Cures are in ``remedies``."""
