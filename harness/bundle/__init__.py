"""What a run leaves on disk: the bundle, the machine it ran on, and how to replay a case."""
