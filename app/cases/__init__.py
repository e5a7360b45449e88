"""The words: cases, statuses, columns and the values that cross; imports no other room."""
