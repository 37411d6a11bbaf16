"""Find a server's sampler order and meanings from outside, and the engine that it resembles."""
