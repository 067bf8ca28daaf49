"""An endpoint's slug as it is given on the command line."""

from __future__ import annotations

from app.cli.errors import CliError, Exit
from app.core.rules import slug_error


def slug_given(text: str) -> str:
    """The slug; one that no endpoint can have gives the same error as one that none has."""
    if slug_error(text):
        raise CliError(f"No endpoint has the slug {text!r}. See hookline endpoint list.", Exit.NO)
    return text
