"""What would place a pending pod or its gang: cures, each of them enough by itself or marked."""
