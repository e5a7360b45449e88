"""The table of settings: a row for each, from which all that shows or reads them is made."""
