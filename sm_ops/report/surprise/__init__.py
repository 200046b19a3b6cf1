"""The report of the main job: conditions between leakage and utility."""
