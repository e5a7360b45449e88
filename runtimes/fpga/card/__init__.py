"""The simulated card: a graph imported, fused, lowered, placed and scheduled."""
