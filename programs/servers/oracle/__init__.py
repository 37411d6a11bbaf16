"""The oracle: the tokens a server must give, by the same model and the reference."""
