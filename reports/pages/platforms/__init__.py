"""Sampler x platform: does a seed repeat there, and which operation parts it where it does not?"""
