"""Values that nobody can hold: made here, judged again by `checks/values.py`, which shares no code with it."""
