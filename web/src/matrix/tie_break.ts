/**
 * The seeded choice among nodes of equal totals, as the server makes it: BLAKE2b (RFC 7693) with a digest of 8 bytes over the
 * pod's UID, keyed with the seed. The server's own is in server/mooring/runtime/cycle/tie_break.py.
 */

const MASK = (1n << 64n) - 1n;
const BLOCK_BYTES = 128;
const DIGEST_BYTES = 8;
const KEY_BYTES = 8;

const INITIAL = [
  0x6a09e667f3bcc908n, 0xbb67ae8584caa73bn, 0x3c6ef372fe94f82bn, 0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n, 0x9b05688c2b3e6c1fn, 0x1f83d9abfb41bd6bn, 0x5be0cd19137e2179n,
];

/** Which word of the block each round takes, as hexadecimal digits. */
const ORDERS = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d", "2c6a0b834d75fe19",
  "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0", "0123456789abcdef", "ea489fd61c02b753",
].map((order) => Array.from(order, (digit) => parseInt(digit, 16)));

/** The four columns of the state, then its four diagonals. */
const LANES: readonly (readonly [number, number, number, number])[] = [
  [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
  [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
];

/** Returns which of `count` tied nodes, in the order of nodes, the pod with this UID gets: 0 to count - 1. */
export function choose(seed: bigint, uid: string, count: number): number {
  return count > 1 ? Number(mix64(seed, uid) % BigInt(count)) : 0;
}

/** Returns a number below 2**64 that depends on the seed and the text alone. */
export function mix64(seed: bigint, text: string): bigint {
  const content = new TextEncoder().encode(text);
  const message = new Uint8Array(BLOCK_BYTES * (1 + Math.ceil(content.length / BLOCK_BYTES)));
  new DataView(message.buffer).setBigUint64(0, seed & MASK, true);
  message.set(content, BLOCK_BYTES);
  const hash = [...INITIAL];
  hash[0]! ^= BigInt(0x01010000 | (KEY_BYTES << 8) | DIGEST_BYTES);
  const end = BLOCK_BYTES + content.length;
  for (let begin = 0; begin < message.length; begin += BLOCK_BYTES) {
    const words = new DataView(message.buffer, begin, BLOCK_BYTES);
    compress(hash, words, Math.min(begin + BLOCK_BYTES, end), begin + BLOCK_BYTES >= end);
  }
  return hash[0]!;
}

function compress(hash: bigint[], words: DataView, counted: number, last: boolean): void {
  const state = [...hash, ...INITIAL];
  state[12]! ^= BigInt(counted);
  if (last) state[14]! ^= MASK;
  for (const order of ORDERS) {
    LANES.forEach(([a, b, c, d], lane) => {
      const word = (index: number) => words.getBigUint64(8 * order[index]!, true);
      mix(state, a, b, c, d, word(2 * lane), word(2 * lane + 1));
    });
  }
  for (let index = 0; index < 8; index++) hash[index]! ^= state[index]! ^ state[index + 8]!;
}

function mix(state: bigint[], a: number, b: number, c: number, d: number, first: bigint, second: bigint): void {
  const step = (word: bigint, right: bigint, left: bigint) => {
    state[a] = (state[a]! + state[b]! + word) & MASK;
    state[d] = rotate(state[d]! ^ state[a]!, right);
    state[c] = (state[c]! + state[d]!) & MASK;
    state[b] = rotate(state[b]! ^ state[c]!, left);
  };
  step(first, 32n, 24n);
  step(second, 16n, 63n);
}

function rotate(word: bigint, right: bigint): bigint {
  return ((word >> right) | (word << (64n - right))) & MASK;
}
