"""The commands, one module for each noun or for a few that belong together: arguments, and what is done."""
