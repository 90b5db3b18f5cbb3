"""Work that runs beside calls: one shape for services, and a supervisor that keeps them running."""

from holdfast.services.supervisor import Service, Supervisor
from holdfast.services.timer_loop import TimerLoop

__all__ = ["Service", "Supervisor", "TimerLoop"]
