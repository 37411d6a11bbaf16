"""Error rates of the distribution tests: false alarms and detected faults."""
