// Xoroshiro128+ (2018: 24, 16, 37), seeded by SplitMix64. Words of 64 bits are held as two int32
// halves, high and low, because BigInt arithmetic would allocate in every draw.

const MASK = (1n << 64n) - 1n;

export class Xoroshiro128Plus {
  private readonly state: Int32Array; // s0 high, s0 low, s1 high, s1 low

  /** seed: a safe integer. Throws RangeError for any other number. */
  constructor(seed: number) {
    if (!Number.isSafeInteger(seed)) throw new RangeError(`seed must be a safe integer: ${seed}`);
    const [s0, s1] = splitMix64(BigInt(seed));
    this.state = Int32Array.of(high(s0), low(s0), high(s1), low(s1));
  }

  /** A multiple of 2**-53 in [0, 1). */
  next(): number {
    const s = this.state;
    const h0 = s[0], l0 = s[1];
    const h1 = s[2] ^ h0, l1 = s[3] ^ l0;
    const sumLow = (l0 >>> 0) + (s[3] >>> 0);
    const sumHigh = (h0 + s[2] + (sumLow > 0xffffffff ? 1 : 0)) >>> 0;
    s[0] = ((h0 << 24) | (l0 >>> 8)) ^ h1 ^ ((h1 << 16) | (l1 >>> 16));
    s[1] = ((l0 << 24) | (h0 >>> 8)) ^ l1 ^ (l1 << 16);
    s[2] = (l1 << 5) | (h1 >>> 27); // rotation by 37: the halves change places
    s[3] = (h1 << 5) | (l1 >>> 27);
    return (sumHigh * 0x200000 + ((sumLow >>> 0) >>> 11)) / 0x20000000000000;
  }
}

function splitMix64(seed: bigint): [bigint, bigint] {
  const first = (seed + 0x9e3779b97f4a7c15n) & MASK;
  return [mix(first), mix((first + 0x9e3779b97f4a7c15n) & MASK)];
}

function mix(z: bigint): bigint {
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

const high = (word: bigint): number => Number(BigInt.asIntN(32, word >> 32n));
const low = (word: bigint): number => Number(BigInt.asIntN(32, word));

// The deprecated global generator.
let globalSeed: number | null = null;
let globalGenerator: Xoroshiro128Plus | null = null;

export function initializePRNG(seed: number = Date.now()): void {
  globalGenerator = new Xoroshiro128Plus(seed);
  globalSeed = seed;
}

/** The next number of the global generator, which starts from the clock if nobody started it. */
export function random(): number {
  if (globalGenerator === null) initializePRNG();
  return globalGenerator!.next();
}

/** Back to the state after initializePRNG. */
export function resetPRNG(): void {
  if (globalSeed !== null) initializePRNG(globalSeed);
}

export const isPRNGInitialized = (): boolean => globalGenerator !== null;
