"""Python loads this folder's sitecustomize.py in a program that `record --engine` runs."""
