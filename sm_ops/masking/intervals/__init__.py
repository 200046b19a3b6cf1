"""Windows that follow the text: one file per kind, named as users name it.

Each offers `intervals(record) -> list of (start, end)`: half-open, in canonical coordinates of the record, in the
order in which the windows are numbered. Which tokens belong to an interval is OP-10 (`masking/windows.py`).
"""
