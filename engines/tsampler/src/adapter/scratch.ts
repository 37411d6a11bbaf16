// The scratch file: raw little-endian arrays by byte offset (x86-64 and arm64 are little-endian).

import { openSync, readSync, writeSync } from "node:fs";

export class Scratch {
  private readonly file: number;

  constructor(path: string) {
    this.file = openSync(path, "r+");
  }

  floats(at: number, n: number): Float32Array {
    const values = new Float32Array(n);
    this.read(values, at);
    return values;
  }

  doubles(at: number, n: number): Float64Array {
    const values = new Float64Array(n);
    this.read(values, at);
    return values;
  }

  /** Writes an array; returns the offset behind it. */
  write(at: number, values: Int32Array | Float32Array): number {
    writeSync(this.file, values, 0, values.byteLength, at);
    return at + values.byteLength;
  }

  private read(into: Float32Array | Float64Array, at: number): void {
    const got = readSync(this.file, into, 0, into.byteLength, at);
    if (got !== into.byteLength) throw new Error(`the scratch file ends at ${at + got}`);
  }
}
