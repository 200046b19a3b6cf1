"""Scorers: filters that read a reference's scores; one file each, whose name is the filter's kind.

A file offers `rows(records, reference, settings) -> Iterator[levels.Row]`: a row for each record, in order. Records are
texts, come one after the other and need not all fit into memory. `reference.score(records)` gives their scores;
`settings` has `rule` (all settings of a rule) beside the filter's own.
"""
