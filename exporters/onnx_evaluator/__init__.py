"""ONNX's own evaluator, the table of what is not believed of it, and a few corrections."""
