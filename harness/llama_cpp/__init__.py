"""llama.cpp's own code through libllama: samplers, decoding, the graph, builds and devices."""
