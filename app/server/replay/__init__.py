"""Replays: sends stored requests again, in order and at a pace, with faults if wanted."""

from app.server.replay.replay_service import ReplayService

__all__ = ["ReplayService"]
