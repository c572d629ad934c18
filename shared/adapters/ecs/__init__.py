"""The agent of ECS, as the container of a task reaches it."""

from shared.adapters.ecs.agent import EcsAgent, NoTaskProtection
from shared.adapters.ecs.service import EcsService

__all__ = ["EcsAgent", "EcsService", "NoTaskProtection"]
