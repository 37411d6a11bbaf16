"""What a person types: the commands of `sampler-parity`. The roof: nothing imports it."""
