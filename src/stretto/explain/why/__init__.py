"""Why a pod is pending, or where it could go: reasons, nearest nodes and cures."""
