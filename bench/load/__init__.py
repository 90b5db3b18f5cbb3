"""Load: what many workers, waiting executions, sessions, and a flood of one tenant cost others."""
