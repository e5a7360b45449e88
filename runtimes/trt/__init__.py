"""TensorRT itself, 10 and 11, and TensorRT for RTX."""
