"""What the batch mode prints for people."""
