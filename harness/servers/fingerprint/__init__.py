"""Which sampler order and which meanings a server has, from outside; which engine it resembles."""
