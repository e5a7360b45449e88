"""The panels that are no plots and no tables: progress, cases, warnings."""
