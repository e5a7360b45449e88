"""`make soak`: what takes minutes and rarely breaks."""
