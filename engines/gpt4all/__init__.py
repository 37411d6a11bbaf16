"""gpt4all: its model with the random numbers of who draws, and the worker."""
