"""ik_llama.cpp: the functions, the library they are in, and the worker."""
