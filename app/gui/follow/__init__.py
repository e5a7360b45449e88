"""Runs that the window watches: each is read on in a thread of its own."""
