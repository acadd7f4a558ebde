"""OpenAPI documents of versions 2 and 3: schemas, paths, and messages of gnostic."""
