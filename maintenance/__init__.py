"""What only maintainers use: golden data, the self-test, calibrations, reproductions."""
