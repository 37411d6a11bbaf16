"""From the settings of a program to the chain of samplers that its engine builds."""
