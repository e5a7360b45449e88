"""What sessions of all engines share: host buffers, several at once, stated precision."""
