"""The keys that fold and unfold lines of a body, and that the commands show beside their names."""

FOLD, UNFOLD = "Ctrl+Shift+[", "Ctrl+Shift+]"
FOLD_ALL, UNFOLD_ALL = "Ctrl+Alt+[", "Ctrl+Alt+]"
