"""The usual chain as WebGPU compute shaders, on a GPU or on Mesa's software device."""
