"""The null twin of a model: its inputs and outputs, with next to nothing in between."""
