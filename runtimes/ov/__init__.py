"""OpenVINO, by its C library."""
