"""When a job fires, pure: a schedule is parsed into explicit values once, then asked for its slots.

    document  the API's `schedule` object   -> parse_schedule, to_document
    values    At | Cron | Every             -> what all others take
    slots     next_slot, last_slot, is_slot -> cron through daylight (zones) over matching (plain calendar)
    jitter    fire_at, first_to_fire        missed, misfire   what an outage left
    codec     encode, decode                preview           what a user sees before creating

Daylight saving is decided in `daylight` alone, and every local time in Carillon goes by that rule.
"""

from shared.domain.schedules.codec import decode, encode
from shared.domain.schedules.document import parse_schedule, to_document
from shared.domain.schedules.jitter import fire_at, first_to_fire, last_to_fire
from shared.domain.schedules.misfire import (
    ONE_TIME_MISFIRE,
    Gap,
    Misfire,
    MisfirePlan,
    default_misfire,
    plan_misfire,
)
from shared.domain.schedules.missed import Missed, missed
from shared.domain.schedules.next_fire import next_fire
from shared.domain.schedules.preview import PreviewSlot, preview
from shared.domain.schedules.slots import count_slots, is_slot, last_slot, next_slot, slots
from shared.domain.schedules.values import At, Cron, Every, Excluded, Schedule
from shared.domain.schedules.zones import tzdata_version, zone, zone_names

__all__ = [
    "ONE_TIME_MISFIRE",
    "At",
    "Cron",
    "Every",
    "Excluded",
    "Gap",
    "Misfire",
    "MisfirePlan",
    "Missed",
    "PreviewSlot",
    "Schedule",
    "count_slots",
    "decode",
    "default_misfire",
    "encode",
    "fire_at",
    "first_to_fire",
    "is_slot",
    "last_slot",
    "last_to_fire",
    "missed",
    "next_fire",
    "next_slot",
    "parse_schedule",
    "plan_misfire",
    "preview",
    "slots",
    "to_document",
    "tzdata_version",
    "zone",
    "zone_names",
]
