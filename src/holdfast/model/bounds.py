"""Sizes and bounds of all values from outside."""

from __future__ import annotations

NAME_CHARS = 128
ID_CHARS = 256
TAGS = 64
TAG_VALUE_CHARS = 256
CAPABILITIES = 64
LANES = 64
#: The kinds that a worker announces.
KINDS = 10_000
GIVE_UP_TYPES = 64
ERROR_TYPE_CHARS = 128
CONTENT_TYPE_CHARS = 64
REASON_CHARS = 1024
PROGRESS_CHARS = 1024
STEP_NAME_CHARS = 256
PAYLOAD_BYTES = 1 << 20
ERROR_BYTES = 16 << 10
BATCH_ITEMS = 1000
CLAIM_ITEMS = 1000
PAGE_ITEMS = 1000
PRIORITY = 1000
MAX_ATTEMPTS = 10_000
MAX_RECLAIMS = 1_000_000
MAX_REPLAYS = 1_000_000
SLOTS = 100_000
LEASE_MIN_MS = 1_000
LEASE_MAX_MS = 86_400_000
WEIGHT = 1_000
WAITPOINTS_IN_WAIT = 64
SIGNAL_NAMES = 64
SIGNAL_BYTES = 64 << 10
SIGNAL_DEPTH = 64
VIEW_BYTES = 64 << 10
ANSWERERS = 64
#: The name of a thread of checkpoints, and the parts of names within it.
THREAD_CHARS = 1_024
#: A checkpoint without its values, a value, a write of a task, or an item that agents remember.
THREAD_BYTES = 16 << 20
TITLE_CHARS = 256
#: The highest version of a part of a task's code.
VERSION = 1_000_000
URL_CHARS = 2_048
SCHEMA_BYTES = 16 << 10
#: Larger inputs are not checked against published schemas.
TASK_SCHEMA_BYTES = 64 << 10
EXPRESSION_CHARS = 1_000
CONDITION_NODES = 64
CONDITION_DEPTH = 6
TOKEN_CHARS = 16_384
KID_CHARS = 64
SECRET_BYTES = 1_024
#: The value of a tenant's secret.
SECRET_VALUE_BYTES = 16 << 10
#: Secrets of a tenant in an env.
SECRETS = 1_000
#: Endpoints of an env, and the parts of one.
ENDPOINTS = 10_000
ENDPOINT_CHARS = 64
ENDPOINT_SETTINGS_BYTES = 16 << 10
ENDPOINT_RATE = 100_000
#: The body of a webhook.
WEBHOOK_BYTES = 1 << 20
#: A value of the state of a pack, and its name.
STATE_BYTES = 64 << 10
STATE_NAME_CHARS = 200
#: A message to a conversation, or a reply.
MESSAGE_BYTES = 64 << 10
SEND_WAIT_MS = 300_000
#: A file that a user sends, and the files of one message.
FILE_BYTES = 100 << 20
MESSAGE_FILES = 10
#: Replies that one call writes.
REPLIES = 100
GRAPH_MEMBERS = 10_000
GRAPH_EDGES = 100_000
#: The members, and the edges, that one call adds to a graph.
GRAPH_GROWTH = 500
BUDGETS = 16
QUOTAS = 16
DIMENSIONS = 64
#: Beyond this a double is not exact.
AMOUNT = 2**53 - 1
QUOTA = 1_000_000_000
RESET_MIN_MS = 100
RESERVATION_MAX_MS = 86_400_000

KEY_CHARS = 256
BACKOFF_STEPS = 32
QUEUE_SIZE = 1_000_000_000
IN_FLIGHT = 1_000_000
EFFECTS = 100
LOCK_MIN_MS = 1
LOCK_MAX_MS = 12 * 3_600_000
OBJECT_BYTES = 16 << 20
API_KEYS = 10_000
API_KEY_NAME_CHARS = 128
API_KEY_LEAST_CHARS = 32
REDACTION_RULES = 1_000
HISTORY_SERIES = 200
HISTORY_POINTS = 2_016
REDACTION_PATH_CHARS = 256
AUDIT_ITEMS = 1000

#: About a hundred years: far beyond any use, and safe in a double with room to add.
DURATION_MS = 100 * 366 * 86_400_000

FRAME_BYTES = 64 << 10
FRAMES_IN_BATCH = 1000
FRAME_BATCH_BYTES = 4 << 20
BATCH_KEY_CHARS = 128
STREAM_FRAMES = 10_000_000
STREAM_BYTES = 1 << 30
SUMMARY_BYTES = 256 << 10
SUMMARY_DEPTH = 64
#: Frame numbers stay below this, so that they are exact everywhere.
FRAME_ID = 2**53
TAILS = 100_000

DEPLOYMENT_ROUTES = 64
SPLIT_ENTRIES = 32
OVERLAYS = 16
CONFIG_BYTES = 64 << 10
#: The archive of a pack.
PACK_BYTES = 80 << 20
GATES = 16
ROLLOUT_STEPS = 20
BULK_RATE = 1000
SAVED_VIEWS = 100
SAVED_VIEW_CHARS = 2000
SAVED_VIEW_NAME_CHARS = 64
#: The history of each execution has room for the id of the bulk action, too.
BULK_REASON_CHARS = 512
ROLLOUT_STEP_MS = 30 * 86_400_000
#: Turns that a guard waits for.
MIN_TURNS = 1_000_000
LATENCY_PERCENT = 100_000

CATCH_UP = 1_000
JITTER_MS = 86_400_000
EVERY_MIN_MS = 100
CRON_CHARS = 256
FIRE_TIMES = 1_000

#: Revisions that one deployment routes to.
REVISIONS = 100
GENERATION = 10**12
#: Bytes of each part of a pin's key, after percent-encoding.
PIN_PART_BYTES = 256
PINS = 1_000_000
PIN_TTL_MS = 30 * 86_400_000
COOKIE_CHARS = 1_024
