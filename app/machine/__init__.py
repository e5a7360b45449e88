"""What the parent knows of this host: its cores, runtimes, devices and child processes."""
