"""Result files of other programs -> what they hold: a module for each program, none of which knows
another."""
