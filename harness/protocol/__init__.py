"""How a backend is asked: messages, scratch file, process."""
