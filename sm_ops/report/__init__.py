"""Reports read records: the numbers of a finished run as JSON, a table, figures and one HTML page."""
