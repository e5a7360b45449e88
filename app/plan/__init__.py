"""Text, flags, files and forms become cases."""
