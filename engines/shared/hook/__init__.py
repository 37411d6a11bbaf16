"""What Python loads at the start of a program that `record --engine` runs."""
