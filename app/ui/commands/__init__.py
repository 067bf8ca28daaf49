"""The commands of the window: their declaration, the palette that runs them, the dialog that lists their keys."""
