"""How the window looks: colour tokens, metrics, fonts, icons and the one style sheet made from them."""
