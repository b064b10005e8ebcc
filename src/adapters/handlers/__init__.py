"""The handlers that a node brings: functions, HTTP calls, commands, and Tocsin's own."""
