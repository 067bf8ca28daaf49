"""What Hookline's numbers are, measured against the bars it sets itself."""
