"""Prefect flows over the stages of sm_ops, the only place that imports Prefect. Started as `python -m flows.NAME`."""
