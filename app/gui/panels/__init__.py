"""The panels that are no plots and no tables: progress, log, queue, the first run."""
