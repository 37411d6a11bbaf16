"""gpt4all: its model with the random numbers of each instance, and the worker."""
