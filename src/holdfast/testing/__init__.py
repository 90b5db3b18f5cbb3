"""Helpers for tests: real servers, a settable clock, an app that runs until idle, crashes."""

from __future__ import annotations

from holdfast.testing.app import NotIdle, TestApp
from holdfast.testing.clock import Clock
from holdfast.testing.conversations import Talk, TalkMatters, conversation, crash_every_line
from holdfast.testing.crashes import (
    CrashesMatter,
    CrashReport,
    CrashRun,
    CrashTest,
    crash_everywhere,
)
from holdfast.testing.polling import wait_for
from holdfast.testing.servers import TestServer, start_cluster, start_server
from holdfast.testing.stores import TestStore, open_test_store

__all__ = [
    "Clock",
    "CrashReport",
    "CrashRun",
    "CrashTest",
    "CrashesMatter",
    "NotIdle",
    "Talk",
    "TalkMatters",
    "TestApp",
    "TestServer",
    "TestStore",
    "conversation",
    "crash_every_line",
    "crash_everywhere",
    "open_test_store",
    "start_cluster",
    "start_server",
    "wait_for",
]
