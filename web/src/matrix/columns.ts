/** Columns as the gateway sends them: a JSON header, and the typed arrays that it names. */

export type Numbers = Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | Float64Array;

interface ArrayEntry {
  name: string;
  dtype: string;
  shape: number[];
  offset: number;
}

export interface Columns<Header> {
  header: Header;
  arrays: Map<string, Numbers>;
}

const LENGTH_BYTES = 4;
const ALIGNMENT = 8;

type View = (buffer: ArrayBuffer, offset: number, count: number) => Numbers;

const VIEWS: Record<string, View> = {
  int8: (buffer, offset, count) => new Int8Array(buffer, offset, count),
  uint8: (buffer, offset, count) => new Uint8Array(buffer, offset, count),
  int16: (buffer, offset, count) => new Int16Array(buffer, offset, count),
  uint16: (buffer, offset, count) => new Uint16Array(buffer, offset, count),
  int32: (buffer, offset, count) => new Int32Array(buffer, offset, count),
  uint32: (buffer, offset, count) => new Uint32Array(buffer, offset, count),
  float64: (buffer, offset, count) => new Float64Array(buffer, offset, count),
};

/** Returns the header and the arrays, which share the buffer. Throws an Error that says what is wrong with the bytes. */
export function decodeColumns<Header>(buffer: ArrayBuffer): Columns<Header> {
  if (buffer.byteLength < LENGTH_BYTES) throw new Error(`columns: ${buffer.byteLength} bytes are too few for a header`);
  const length = new DataView(buffer).getUint32(0, true);
  const headerEnd = LENGTH_BYTES + length;
  if (headerEnd > buffer.byteLength) throw new Error(`columns: the header of ${length} bytes is cut off`);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, LENGTH_BYTES, length))) as Header & {
    arrays: ArrayEntry[];
  };
  const begin = Math.ceil(headerEnd / ALIGNMENT) * ALIGNMENT;
  const arrays = new Map<string, Numbers>();
  for (const { name, dtype, shape, offset } of header.arrays) {
    const view = VIEWS[dtype];
    if (!view) throw new Error(`columns: array ${name} has the unknown type ${dtype}`);
    const count = shape.reduce((product, side) => product * side, 1);
    try {
      arrays.set(name, view(buffer, begin + offset, count));
    } catch {
      throw new Error(`columns: array ${name} of ${count} ${dtype} at ${offset} lies outside the answer`);
    }
  }
  return { header, arrays };
}
