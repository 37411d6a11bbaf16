"""Ask a backend: messages, scratch file, process."""
