"""Requests over time: which stretch of time is shown in how many bars, what a bar counts, and how that is worded."""
