"""What runs in a child process, and nothing else does: numpy, one engine, no other package."""
