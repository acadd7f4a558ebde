"""OpenAPI documents as protobuf messages of gnostic, which clients read."""
