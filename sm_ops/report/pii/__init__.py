"""The report of the PII pipeline: what each way of finding PII finds, leaves and invents."""
