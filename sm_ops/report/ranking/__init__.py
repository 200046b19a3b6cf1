"""The report of the flow that ranks whole outputs: what each score separates, and what else might."""
