"""ONNX Runtime: its CPU, CUDA and TensorRT providers."""
