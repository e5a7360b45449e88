"""A run as figures and as one HTML page: for a notebook, and for whoever has no Graphlap."""
