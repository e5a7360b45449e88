"""What the window shows while no run is open."""
