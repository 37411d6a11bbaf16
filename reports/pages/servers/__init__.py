"""Parameter x server: what each does with it, with one line of evidence."""
