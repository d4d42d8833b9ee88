// The form of a JSON number (RFC 8259, 6), byte by byte: the part that is being read and a byte give the next part.

const NUMBER_PARTS = ["none", "minus", "zero", "integer", "point", "fraction", "e", "sign", "exponent"] as const;
type NumberPart = (typeof NUMBER_PARTS)[number];

const DIGITS = "0123456789";
const NEXT: Readonly<Record<NumberPart, Readonly<Record<string, NumberPart>>>> = {
  none: { "-": "minus", "0": "zero", "123456789": "integer" },
  minus: { "0": "zero", "123456789": "integer" },
  zero: { ".": "point", eE: "e" },
  integer: { [DIGITS]: "integer", ".": "point", eE: "e" },
  point: { [DIGITS]: "fraction" },
  fraction: { [DIGITS]: "fraction", eE: "e" },
  e: { [DIGITS]: "exponent", "+-": "sign" },
  sign: { [DIGITS]: "exponent" },
  exponent: { [DIGITS]: "exponent" },
};
const WHOLE: ReadonlySet<NumberPart> = new Set<NumberPart>(["zero", "integer", "fraction", "exponent"]);

const BYTES = 256;
const NONE = 0;
const TABLE = new Uint8Array(NUMBER_PARTS.length * BYTES);
for (const [part, nexts] of Object.entries(NEXT))
  for (const [chars, next] of Object.entries(nexts))
    for (const char of chars)
      TABLE[NUMBER_PARTS.indexOf(part as NumberPart) * BYTES + char.charCodeAt(0)] = NUMBER_PARTS.indexOf(next);
const MAY_END = NUMBER_PARTS.map((part) => WHOLE.has(part));
const MAY_FOLLOW = Array.from({ length: BYTES }, (_, byte) => !`${DIGITS}+-.eE`.includes(String.fromCharCode(byte)));

export class JsonNumber {
  #part = NONE;
  /** Numbers that have begun. */
  count = 0;
  isMalformed = false;

  /** Where the bytes from here on are no longer of a number. */
  pass(bytes: Uint8Array, from: number): number {
    let part = this.#part;
    let at = from;
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      const next = TABLE[part * BYTES + byte] as number;
      if (part === NONE && next !== NONE) this.count += 1;
      if (next === NONE && part !== NONE && !(MAY_END[part] && MAY_FOLLOW[byte])) this.isMalformed = true;
      part = next;
      if (next === NONE) break;
    }
    this.#part = part;
    return at;
  }
}
