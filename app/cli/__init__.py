"""The command line: one table of commands, and one module with the options of each."""
