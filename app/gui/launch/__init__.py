"""From a plan to a running batch process: its text, its command line, the child, the queue."""
