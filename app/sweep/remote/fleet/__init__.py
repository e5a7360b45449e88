"""Rounds on other machines: what a sweep asks of a host, and who carries it there."""
