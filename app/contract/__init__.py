"""The contract of runtimes, as tests that a package with a runtime of its own runs too."""
