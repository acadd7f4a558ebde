"""OpenAPI documents as protobuf messages of gnostic, in which clients read them."""
