"""The local stack: servers as supervised processes on loopback, with their secrets, logs, data and backups."""
