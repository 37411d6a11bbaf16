"""The blocks of a suite file, a module for each kind."""
