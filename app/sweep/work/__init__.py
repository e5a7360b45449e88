"""The kinds of work of a sweep, one file each behind one protocol: see `base`."""
