"""TensorRT itself, 10 and 11."""
