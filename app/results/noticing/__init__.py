"""The rules by which something in a run is worth a sentence, each over its rows alone."""
