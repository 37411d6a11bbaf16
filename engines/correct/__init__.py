"""Correct engines: every sampler of llama.cpp, each with another arithmetic."""
