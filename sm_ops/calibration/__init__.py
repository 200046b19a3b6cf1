"""From labelled validation data to an operating point: critical values, thresholds, suitability."""
