"""x"""

from functions.scheduler.wheel.timing_wheel import TimingWheel

__all__ = ["TimingWheel"]
