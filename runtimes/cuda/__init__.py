"""The CUDA driver, the libraries that the engines need, and the options they share."""
