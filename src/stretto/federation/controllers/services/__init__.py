"""Services over clusters, with the objects of the Multi-Cluster Services API (mcs-api)."""
