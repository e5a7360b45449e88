"""What ONNX's operators mean, computed by numpy: onnx's own evaluator with its faults mended."""
