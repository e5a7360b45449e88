"""PyTorch, eager and compiled, on the CPU and on CUDA."""
