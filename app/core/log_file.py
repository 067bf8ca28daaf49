"""The name of the log file in the data folder, and of the older ones that it was rotated to."""

FILE_NAME = "hookline.log"
OLD_FILES = 2
"""They end in `.1` (the newer one) and `.2`."""
