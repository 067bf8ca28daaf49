"""What the user can ask for: every command in one book, the palette and the cheat sheet that are made of it."""
