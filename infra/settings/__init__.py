"""What a deployment may choose, one file per concern. What AWS or the protocol would refuse is never built."""

from infra.settings.api import ApiSettings
from infra.settings.domain import CustomDomain
from infra.settings.environment import Auth, Environment
from infra.settings.grants import Grant
from infra.settings.handlers import Handlers
from infra.settings.lanes import Host, LaneSettings
from infra.settings.limits import OwnerLimits
from infra.settings.network import NetworkSettings
from infra.settings.reading import SettingsRefused, override, require_alarms
from infra.settings.tables import WarmThroughput
from infra.settings.tasks import TaskSettings
from infra.settings.tracing import Tracing

__all__ = [
    "ApiSettings",
    "Auth",
    "CustomDomain",
    "Environment",
    "Grant",
    "Handlers",
    "Host",
    "LaneSettings",
    "NetworkSettings",
    "OwnerLimits",
    "SettingsRefused",
    "TaskSettings",
    "Tracing",
    "WarmThroughput",
    "override",
    "require_alarms",
]
