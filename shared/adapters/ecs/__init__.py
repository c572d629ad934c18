"""The agent of ECS, as the container of a task reaches it."""

from shared.adapters.ecs.agent import EcsAgent, NoTaskProtection

__all__ = ["EcsAgent", "NoTaskProtection"]
