"""What the figures of a run come to."""
