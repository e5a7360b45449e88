"""The schedule of one case on the simulated card: asked for here, answered by a process."""
