"""Services over clusters, by the objects of the Multi-Cluster Services API (mcs-api)."""
