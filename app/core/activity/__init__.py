"""The activity chart: its time axis, what a bar counts, and its labels."""
