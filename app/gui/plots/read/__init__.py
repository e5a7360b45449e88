"""Reading off plots: a crosshair with its readout, and ranges of samples that light up."""
