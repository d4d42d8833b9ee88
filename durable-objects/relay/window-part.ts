// One part of a stream's last output: its text as it came, and the forms in which readers get it. Each form is encoded
// once, for all readers. A part takes more memory than its text, so that the small ones of a window become larger. An
// event that is too long for a part goes on in the next ones; it counts where it begins.

import { isUsageOnly } from "../../contract/front-door/dialect.ts";
import { dataOf, endsWhole, eventEndsIn, eventsIn } from "../../contract/text/event-text.ts";

const EVENT_END = "\n\n";
/** A part that would be larger takes nothing in. */
const SMALL_PART_CHARS = 4_096;
/** Texts that a part has taken in, before they are made one. */
const MAX_TEXTS = 64;
const encoder = new TextEncoder();

/** `plain`: as it came. `stripped`: without the usage that nobody asked for. `numbered`: for second readers. */
type Form = "plain" | "stripped" | "numbered";

/** What a text has of events: the rest of an event that began before it, whole events, and the beginning of one. */
interface Pieces {
  readonly rest: string;
  readonly whole: readonly string[];
  readonly begun: string;
}

const piecesIn = (text: string, isContinued: boolean): Pieces => {
  const from = isContinued ? (eventEndsIn(text).next().value ?? text.length) : 0;
  const rest = text.slice(0, from);
  const events = text.slice(from);
  if (endsWhole(events)) return { rest, whole: eventsIn(events), begun: "" };
  let to = 0;
  for (const end of eventEndsIn(events)) to = end;
  return { rest, whole: eventsIn(events.slice(0, to)), begun: events.slice(to) };
};

export class WindowPart {
  #texts: string[];
  #chars: number;
  readonly #lease: number;
  /** It begins within an event. */
  readonly #isContinued: boolean;
  readonly #forms = new Map<Form, Uint8Array>();
  #encodedBytes = 0;
  #eventCount: number | null = null;

  constructor(text: string, lease: number, isContinued: boolean) {
    this.#texts = [text];
    this.#chars = text.length;
    this.#lease = lease;
    this.#isContinued = isContinued;
  }

  get text(): string {
    if (this.#texts.length > 1) this.#texts = [this.#texts.join("")];
    return this.#texts[0] ?? "";
  }

  get heldBytes(): number {
    return this.#chars + this.#encodedBytes;
  }

  /** Of those that begin in it. */
  get eventCount(): number {
    this.#eventCount ??= this.#count(this.#pieces());
    return this.#eventCount;
  }

  /** The beginning of an event that goes on in the next part; empty if there is none. */
  get begun(): string {
    return this.#pieces().begun;
  }

  #pieces(): Pieces {
    return piecesIn(this.text, this.#isContinued);
  }

  #count({ whole, begun }: Pieces): number {
    return whole.length + (begun === "" ? 0 : 1);
  }

  /** Becomes this part and the one after it; false if that is too much for one. */
  takeIn(next: WindowPart): boolean {
    if (this.#chars + next.#chars > SMALL_PART_CHARS) return false;
    const isCounted = this.#eventCount !== null && next.#eventCount !== null;
    this.#eventCount = isCounted ? this.eventCount + next.eventCount : null;
    this.#texts.push(next.text);
    if (this.#texts.length > MAX_TEXTS) this.#texts = [this.text];
    this.#chars += next.#chars;
    this.#forms.clear();
    this.#encodedBytes = 0;
    return true;
  }

  plain(): Uint8Array {
    return this.#form("plain", () => this.text);
  }

  stripped(): Uint8Array {
    return this.text.includes('"usage"') ? this.#form("stripped", () => this.#withoutUsage()) : this.plain();
  }

  /** `before`: how many events of the stream come before this part. */
  numbered(before: number, after: number): Uint8Array {
    if (after > before) return encoder.encode(this.#numberedText(before, after));
    return this.#form("numbered", () => this.#numberedText(before, after));
  }

  #form(form: Form, write: () => string): Uint8Array {
    const known = this.#forms.get(form);
    if (known !== undefined) return known;
    const bytes = encoder.encode(write());
    this.#forms.set(form, bytes);
    this.#encodedBytes += bytes.byteLength;
    return bytes;
  }

  #withoutUsage(): string {
    const { rest, whole, begun } = this.#pieces();
    const kept = whole.filter((event) => !isUsageOnly(event)).map((event) => `${event}${EVENT_END}`);
    return `${rest}${kept.join("")}${begun}`;
  }

  #numberedText(before: number, after: number): string {
    const pieces = this.#pieces();
    const { rest, whole, begun } = pieces;
    this.#eventCount = this.#count(pieces);
    const told = whole
      .map((event, index) => ({ data: dataOf(event), number: before + index + 1 }))
      .filter(({ data, number }) => number > after && data !== "" && data !== "[DONE]")
      .map(({ data, number }) => `${numberedEvent(`${this.#lease}.${number}`, data)}${EVENT_END}`);
    const number = before + this.#eventCount;
    const last = begun !== "" && number > after ? numberedEvent(`${this.#lease}.${number}`, dataOf(begun)) : "";
    return `${before > after ? rest : ""}${told.join("")}${last}`;
  }
}

const numberedEvent = (id: string, data: string): string => {
  const lines = data.split("\n").map((line) => `data: ${line}`);
  return `event: chunk\nid: ${id}\n${lines.join("\n")}`;
};
