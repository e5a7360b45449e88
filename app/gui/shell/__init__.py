"""The frame of the window: its header, its panes, and which of them are shown."""
