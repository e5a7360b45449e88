"""The functions of the package `graphlap`: commands as calls that take objects of a program."""
