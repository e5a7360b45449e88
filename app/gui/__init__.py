"""The desktop window: a viewer of run folders and a launcher of batch runs.

Only this package imports Qt; it imports no engine. What it shows is read from a run folder,
whoever writes it.
"""
