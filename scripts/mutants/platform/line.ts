// One end of a WebSocket: of the tests, which listen to its events, or of an object, which is called with its frames.

import { setImmediate as nextTick } from "node:timers/promises";

type Frame = string | ArrayBuffer;

/** The object that accepted an end. */
export interface Hearer {
  message(line: Line, frame: Frame): Promise<unknown>;
  closed(line: Line, code: number, reason: string): Promise<unknown>;
}

const PING = "ping";
const PONG = "pong";
const ABNORMAL_CLOSURE = 1006;

export class Line extends EventTarget {
  #other!: Line;
  #hearer: Hearer | null = null;
  #attachment: unknown = null;
  #unheard: Event[] = [];
  #isAccepted = false;
  #hasEnded = false;
  readyState: number = WebSocket.OPEN;
  tags: readonly string[] = [];
  pingedAt: number | null = null;

  static pair(): [Line, Line] {
    const [one, other] = [new Line(), new Line()];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  /** What came so far is heard now. */
  accept(): void {
    this.#isAccepted = true;
    for (const event of this.#unheard.splice(0)) this.dispatchEvent(event);
  }

  acceptedBy(hearer: Hearer, tags: readonly string[]): void {
    this.#hearer = hearer;
    this.tags = tags;
  }

  /** What an attachment says when it is read is a copy. */
  serializeAttachment(attachment: unknown): void {
    this.#attachment = structuredClone(attachment);
  }

  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment);
  }

  send(frame: Frame): void {
    if (this.readyState !== WebSocket.OPEN) throw new Error("the socket is closed");
    void this.#other.#hear(frame);
  }

  close(code = 1000, reason = ""): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.readyState = WebSocket.CLOSED;
    void this.#other.#end(code, reason);
  }

  /** The connection is gone without a word. */
  cut(): void {
    this.#hasEnded = true;
    this.readyState = WebSocket.CLOSED;
    void this.#other.#end(ABNORMAL_CLOSURE, "");
  }

  async #hear(data: Frame): Promise<void> {
    await nextTick();
    if (this.#hearer === null) return this.#emit(Object.assign(new Event("message"), { data }));
    if (data !== PING) return void (await this.#hearer.message(this, data));
    this.pingedAt = Date.now();
    void this.#other.#hear(PONG);
  }

  /** The other end has closed; a test's end answers by itself, so that the object hears of it. */
  async #end(code: number, reason: string): Promise<void> {
    await nextTick();
    if (this.readyState === WebSocket.CLOSED) return;
    if (this.#hearer !== null) return this.#tellClosed(code, reason);
    this.readyState = WebSocket.CLOSED;
    this.#emit(Object.assign(new Event("close"), { code, reason, wasClean: true }));
    await this.#other.#tellClosed(code, reason);
  }

  async #tellClosed(code: number, reason: string): Promise<void> {
    if (this.readyState === WebSocket.OPEN) this.readyState = WebSocket.CLOSING;
    await this.#hearer?.closed(this, code, reason);
  }

  #emit(event: Event): void {
    if (this.#isAccepted) this.dispatchEvent(event);
    else this.#unheard.push(event);
  }
}
