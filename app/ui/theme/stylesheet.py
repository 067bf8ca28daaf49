"""The application's style sheet, made from tokens. Widgets select their style by the dynamic properties used here."""

from __future__ import annotations

from dataclasses import fields
from string import Template

from app.core.resources import resource
from app.ui.theme import fonts, metrics
from app.ui.theme.sheet_controls import CONTROLS
from app.ui.theme.sheet_frame import FRAME
from app.ui.theme.sheet_views import VIEWS
from app.ui.theme.tokens import Tokens


def style_sheet(tokens: Tokens) -> str:
    """The style sheet for `tokens`."""
    colours = {field.name: getattr(tokens, field.name) for field in fields(tokens)}
    return Template(VIEWS + CONTROLS + FRAME).substitute(
        colours,
        small=fonts.SMALL,
        base=fonts.BASE,
        large=fonts.LARGE,
        title=fonts.TITLE,
        display=fonts.DISPLAY,
        radius=metrics.RADIUS,
        radius_small=metrics.RADIUS_SMALL,
        radius_card=metrics.RADIUS_CARD,
        inner=metrics.CONTROL - 2,
        controls=resource("icons/controls").as_posix(),
    )
