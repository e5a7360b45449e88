"""From a plan to a running batch process: its text, the child, its steering, the queue."""
