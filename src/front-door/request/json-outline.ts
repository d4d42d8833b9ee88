// Reads a large JSON body while it arrives, a chunk at a time, so that no request keeps the thread for long: it counts
// depth and values, finds the top-level members that the edge changes, and keeps everything but the rest of long texts
// (images, files) and, of very many numbers, the rest of each. What it keeps is a small JSON text with the same structure,
// which a parser then judges. What it leaves out it judges itself: escapes, control characters, UTF-8, numbers.

import { JSON_MARKS } from "../../../contract/text/json-marks.ts";
import { JsonNumber } from "../../../contract/text/json-number.ts";
import { JsonTally, mixed } from "../../../contract/words/json-bounds.ts";
import { invalid } from "../../../domain/words/refusal.ts";
import { joined } from "../../http/body.ts";
import { Refused } from "../../http/refused.ts";

/** Texts and names: a parser makes an object of each, and no client needs more in one request. */
export const MAX_LARGE_BODY_TEXTS = 131_072;

/** Bytes of a text that the outline keeps: more than the prompt that people see. */
const KEPT_TEXT_BYTES = 4_096;
/** From so many kept bytes on, texts below the top level keep less, so that the parser is never busy for long. */
const MANY_KEPT_BYTES = 4 * 1024 * 1024;
const SHORT_TEXT_BYTES = 32;
/** So many numbers stay whole. Of a further one the first digit is enough: a fraction costs a parser ten times as much. */
const WHOLE_NUMBERS = 4_096;
/** No name that is looked for is longer, even if all of it is escaped. */
const MAX_NAME_BYTES = 256;

const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = JSON_MARKS;
const MINUS = 0x2d;
const STRICT = { fatal: true, ignoreBOM: false } as const;
const FIRST_PRINTABLE = 0x20;
const UNICODE_ESCAPE = 0x75;
const HEX_DIGITS = 4;
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)));

/** A stretch of the body, in bytes. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Where a member's value stands, which may end with white space. */
export interface Member extends Span {
  /** What to leave out for the body to be without the member: its name, its value and a comma. */
  readonly whole: Span;
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;
const isHexDigit = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
const refuse = (what: string): never => {
  throw new Refused(invalid("", `the body must be ${what}`));
};

export class JsonOutline {
  /** The top-level members that were looked for. */
  readonly members = new Map<string, Member>();
  readonly #wanted: ReadonlySet<string>;
  readonly #utf8 = new TextDecoder("utf-8", STRICT);
  readonly #kept: Uint8Array[] = [];
  /** Bytes before the current chunk. */
  #offset = 0;
  /** Where the kept part of the current chunk begins. */
  #keptFrom = 0;
  readonly #tally = new JsonTally(true);
  #isInString = false;
  #textBytes = 0;
  /** Bytes of its characters beside each one's first. */
  #furtherBytes = 0;
  #textHash = 0;
  #hasEscape = false;
  #keptTextBytes = KEPT_TEXT_BYTES;
  #keptBytes = 0;
  /** What comes now is left out. */
  #isCut = false;
  #texts = 0;
  readonly #number = new JsonNumber();
  #isEscaped = false;
  #hexLeft = 0;
  /** At the top level: the name being read or just read; null where a name cannot stand. */
  #name: string | null = null;
  #valueFrom = -1;
  /** Behind the brace or the comma before that name. */
  #memberFrom = 0;

  constructor(wanted: readonly string[]) {
    this.#wanted = new Set(wanted);
  }

  /** Throws a refusal as soon as the body cannot be taken. */
  push(chunk: Uint8Array): void {
    this.#checkUtf8(chunk, true);
    this.#keptFrom = 0;
    const keptBefore = this.#kept.length;
    for (let at = 0; at < chunk.length; at += 1) {
      at = this.#isInString ? this.#passPlain(chunk, at) : this.#passNumber(chunk, at);
      const byte = chunk[at];
      if (byte === undefined) break;
      if (this.#isInString) this.#readText(byte, at, chunk);
      else this.#readOther(byte, at);
    }
    this.#refuseExcess();
    if (!this.#isCut) this.#keep(chunk.subarray(this.#keptFrom));
    if (this.#kept.length > keptBefore + 1) this.#kept.push(joined(this.#kept.splice(keptBefore)));
    this.#offset += chunk.length;
  }

  /** The kept text, as the parser reads it. */
  finish(): unknown {
    this.#checkUtf8(new Uint8Array(), false);
    const decoder = new TextDecoder("utf-8", STRICT);
    const text = this.#kept.splice(0).map((bytes) => decoder.decode(bytes, { stream: true }));
    try {
      return JSON.parse(text.join("") + decoder.decode());
    } catch (error) {
      return refuse(`JSON: ${(error as Error).message.slice(0, 120)}`);
    }
  }

  #checkUtf8(chunk: Uint8Array, isMoreToCome: boolean): void {
    try {
      this.#utf8.decode(chunk, { stream: isMoreToCome });
    } catch {
      refuse("UTF-8");
    }
  }

  #beginText(): void {
    this.#isInString = true;
    this.#textBytes = 0;
    this.#furtherBytes = 0;
    this.#textHash = this.#tally.seed;
    this.#hasEscape = false;
    const isShort = this.#keptBytes > MANY_KEPT_BYTES && this.#tally.depth > 1;
    this.#keptTextBytes = isShort ? SHORT_TEXT_BYTES : KEPT_TEXT_BYTES;
  }

  #keep(bytes: Uint8Array): void {
    this.#kept.push(bytes);
    this.#keptBytes += bytes.length;
  }

  /** Passes what needs no look: most of a long text. Answers where the rest begins. */
  #passPlain(chunk: Uint8Array, from: number): number {
    if (this.#hexLeft > 0 || this.#isEscaped || this.#isName) return from;
    const room = this.#isCut ? chunk.length - from : this.#keptTextBytes - this.#textBytes;
    const to = Math.min(chunk.length, from + room);
    let hash = this.#textHash;
    let furtherBytes = 0;
    let at = from;
    for (; at < to; at += 1) {
      const byte = chunk[at] as number;
      if (byte === QUOTE || byte === BACKSLASH || byte < FIRST_PRINTABLE) break;
      hash = mixed(hash, byte);
      if (isContinuation(byte)) furtherBytes += 1;
    }
    this.#textHash = hash;
    this.#furtherBytes += furtherBytes;
    this.#textBytes += at - from;
    return at;
  }

  #readText(byte: number, at: number, chunk: Uint8Array): void {
    this.#textBytes += 1;
    if (isContinuation(byte)) this.#furtherBytes += 1;
    this.#textHash = mixed(this.#textHash, byte);
    if (this.#hexLeft > 0 || this.#isEscaped) this.#readEscape(byte);
    else if (byte === QUOTE) {
      this.#isInString = false;
      this.#texts += 1;
      this.#tally.text(this.#textHash, this.#textBytes - 1 - this.#furtherBytes, this.#hasEscape);
      if (this.#isCut) this.#keptFrom = at;
      this.#isCut = false;
      return;
    } else {
      if (this.#textBytes > this.#keptTextBytes && !this.#isCut && !isContinuation(byte)) {
        this.#keep(chunk.subarray(this.#keptFrom, at));
        this.#isCut = true;
      }
      if (byte === BACKSLASH) {
        this.#isEscaped = true;
        this.#hasEscape = true;
      } else if (byte < FIRST_PRINTABLE) refuse("JSON: a text has a control character");
    }
    if (this.#isName && this.#textBytes <= MAX_NAME_BYTES) this.#name += String.fromCharCode(byte);
  }

  /** Whether a text that is read now is the name of a top-level member. */
  get #isName(): boolean {
    return this.#tally.depth === 1 && this.#name !== null && this.#valueFrom < 0;
  }

  #readEscape(byte: number): void {
    if (this.#hexLeft > 0) {
      if (!isHexDigit(byte)) refuse("JSON: a text has a malformed escape");
      this.#hexLeft -= 1;
      return;
    }
    this.#isEscaped = false;
    if (byte === UNICODE_ESCAPE) this.#hexLeft = HEX_DIGITS;
    else if (!SIMPLE_ESCAPES.has(byte)) refuse("JSON: a text has a malformed escape");
  }

  /** Answers where the rest begins. */
  #passNumber(chunk: Uint8Array, from: number): number {
    const to = this.#number.pass(chunk, from);
    if (this.#isCut || to === from || this.#number.count <= WHOLE_NUMBERS) return to;
    const firstDigit = chunk[from] === MINUS ? from + 1 : from;
    if (firstDigit === to) return to;
    this.#keep(chunk.subarray(this.#keptFrom, firstDigit + 1));
    this.#isCut = true;
    return to;
  }

  #readOther(byte: number, at: number): void {
    if (this.#isCut) this.#keptFrom = at;
    this.#isCut = false;
    if (byte === QUOTE) this.#beginText();
    else if (byte >= COMMA) this.#readMark(byte, this.#offset + at);
  }

  #readMark(byte: number, place: number): void {
    this.#tally.mark(byte);
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      if (this.#tally.depth === 1) this.#beginMember(place);
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      if (this.#tally.depth === 0) this.#endMember({ from: this.#memberFrom - 1, to: place });
    } else if (byte === COMMA) {
      if (this.#tally.depth === 1) this.#endMember({ from: this.#memberFrom, to: place + 1 }, place);
    } else if (byte === COLON && this.#tally.depth === 1 && this.#valueFrom < 0) this.#valueFrom = place + 1;
  }

  #refuseExcess(): void {
    const excess = this.#tally.excess();
    if (excess !== null) throw new Refused(invalid("", `the body ${excess}`));
    if (this.#texts > MAX_LARGE_BODY_TEXTS)
      refuse(`one of at most ${MAX_LARGE_BODY_TEXTS} texts and names if it is over 1 MiB`);
    if (this.#number.isMalformed) refuse("JSON: a number is malformed");
  }

  /** Two members of one name would mean one thing here and another at the runtime. */
  #endMember(whole: Span, to = whole.to): void {
    const name = plainName(this.#name ?? "");
    if (this.#valueFrom >= 0 && name !== null && this.#wanted.has(name)) {
      if (this.members.has(name)) throw new Refused(invalid(name, "is given more than once"));
      this.members.set(name, { from: this.#valueFrom, to, whole });
    }
    this.#beginMember(to);
  }

  #beginMember(place: number): void {
    this.#name = "";
    this.#valueFrom = -1;
    this.#memberFrom = place + 1;
  }
}

/** A name without its escapes; null if it is malformed, which the parser will say. */
const plainName = (name: string): string | null => {
  if (!name.includes("\\")) return name;
  try {
    return JSON.parse(`"${name}"`) as string;
  } catch {
    return null;
  }
};
