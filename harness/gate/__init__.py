"""May this release go out? A bundle against a policy."""
