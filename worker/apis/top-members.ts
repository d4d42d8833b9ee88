// Reads a few members of a large JSON object while it passes, and keeps nothing else: what an answer of many megabytes
// spent stands beside its vectors or images. It judges no JSON but that the object begins and ends.

import { JSON_MARKS } from "../../contract/text/json-marks.ts";
import { type JsonObject, parseJson } from "../../contract/text/json-object.ts";

/** A member of more bytes is not read here. */
const MAX_MEMBER_BYTES = 64 * 1024;
const [QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = JSON_MARKS;
const SPACE = 0x20;

export class TopMembers {
  readonly #wanted: ReadonlySet<string>;
  readonly #found: JsonObject = {};
  #depth = 0;
  #isObject = false;
  #isEnded = false;
  #isInString = false;
  #isEscaped = false;
  #isName = true;
  /** Of the name or the value that is read now; null where nothing is kept. */
  #kept: number[] | null = null;
  #name = "";

  constructor(wanted: readonly string[]) {
    this.#wanted = new Set(wanted);
  }

  push(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (this.#isInString) this.#readString(byte);
      else this.#readMark(byte);
    }
  }

  /** The members that were there; null if it was no whole object. */
  finish(): JsonObject | null {
    return this.#isObject && this.#isEnded ? this.#found : null;
  }

  #readString(byte: number): void {
    this.#keep(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }

  #readMark(byte: number): void {
    if (byte <= SPACE) return;
    const isOpening = byte === OPEN_BRACE || byte === OPEN_BRACKET;
    if (this.#depth === 0) {
      this.#isObject = byte === OPEN_BRACE && !this.#isObject && !this.#isEnded;
      if (isOpening) this.#depth = 1;
      this.#beginName();
      return;
    }
    const isClosing = byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
    if (this.#depth === 1 && (byte === COMMA || isClosing)) this.#endMember();
    else if (this.#depth === 1 && byte === COLON && this.#isName) this.#beginValue();
    else this.#keep(byte);
    if (byte === QUOTE) this.#isInString = true;
    if (isOpening) this.#depth += 1;
    if (isClosing) this.#depth -= 1;
    this.#isEnded = this.#depth === 0;
  }

  #beginName(): void {
    this.#isName = true;
    this.#kept = [];
  }

  #beginValue(): void {
    const name = parseJson(textOf(this.#kept));
    this.#isName = false;
    this.#name = typeof name === "string" ? name : "";
    this.#kept = this.#wanted.has(this.#name) ? [] : null;
  }

  #endMember(): void {
    if (!this.#isName && this.#kept !== null) this.#found[this.#name] = parseJson(textOf(this.#kept));
    this.#beginName();
  }

  #keep(byte: number): void {
    if (this.#kept === null) return;
    if (this.#kept.length < MAX_MEMBER_BYTES) this.#kept.push(byte);
    else this.#kept = null;
  }
}

const textOf = (bytes: readonly number[] | null): string => new TextDecoder().decode(Uint8Array.from(bytes ?? []));
