// The sockets that end in the edge in Node, self-hosted: their frames go in groups on the object's lines
// (`object-line.ts`), because each frame of a socket of its own would be an event of the platform. An object with such
// sockets does not sleep. Invariant: a socket ends with its line, whatever ended that.

import { LONG_TEXT_CHARS } from "../../domain/words/size.ts";
import { log } from "../../log/log.ts";
import type { TurnRunner } from "../calls/turn-runner.ts";
import { callMethod, type LineEnd, OPEN_SOCKET, SOCKETS, type SocketAsked } from "./object-line.ts";
import { readSocketGroup, SocketGroupWriter } from "./socket-group.ts";
import type { SocketIntake } from "./socket-intake.ts";
import {
  type Attachment,
  closeReason,
  INTERNAL_ERROR,
  PING,
  type SocketTable,
  type TenantSocket,
  tagsOf,
} from "./tenant-socket.ts";

const KINDS: readonly Attachment["kind"][] = ["worker", "viewer"];

/** The accepted sockets of all lines. */
export class LineSockets implements SocketTable {
  readonly #tagged = new Map<string, Set<TenantSocket>>();

  get size(): number {
    return KINDS.reduce((sum, kind) => sum + (this.#tagged.get(kind)?.size ?? 0), 0);
  }

  all(tag?: string): TenantSocket[] {
    return tag === undefined ? KINDS.flatMap((kind) => this.all(kind)) : [...(this.#tagged.get(tag) ?? [])];
  }

  add(socket: TenantSocket, attachment: Attachment): void {
    for (const tag of tagsOf(attachment)) this.#tagged.set(tag, (this.#tagged.get(tag) ?? new Set()).add(socket));
  }

  delete(socket: TenantSocket): void {
    if (socket.attachment === null) return;
    for (const tag of tagsOf(socket.attachment)) {
      const sockets = this.#tagged.get(tag);
      sockets?.delete(socket);
      if (sockets?.size === 0) this.#tagged.delete(tag);
    }
  }
}

class LineSocket implements TenantSocket {
  readonly #number: number;
  readonly #line: SocketLine;
  readonly #table: LineSockets;
  isOpen = true;
  attachment: Attachment | null = null;
  pingedAt = 0;

  constructor(number: number, line: SocketLine, table: LineSockets) {
    this.#number = number;
    this.#line = line;
    this.#table = table;
  }

  accept(attachment: Attachment): void {
    this.attachment = attachment;
    this.#table.add(this, attachment);
  }

  attach(attachment: Attachment): void {
    this.attachment = attachment;
  }

  send(text: string): void {
    if (this.isOpen) this.#line.write((group) => group.share(this.#number, text));
  }

  close(code: number, reason: string): void {
    if (this.isOpen)
      this.#line.write((group) => group.close({ socket: this.#number, code, reason: closeReason(reason) }));
    this.isOpen = false;
  }

  /** It has closed. */
  leave(): void {
    this.isOpen = false;
    this.#table.delete(this);
  }
}

interface SocketLineParts {
  readonly intake: Pick<SocketIntake, "open" | "hear" | "ended">;
  readonly turns: Pick<TurnRunner, "together">;
  readonly table: LineSockets;
}

/** One line's sockets. */
export class SocketLine implements Pick<LineEnd, "ended"> {
  readonly #tell: (text: string) => void;
  readonly #parts: SocketLineParts;
  readonly #sockets = new Map<number, LineSocket>();
  readonly #group = new SocketGroupWriter(LONG_TEXT_CHARS);
  #isOver = false;

  constructor(tell: (text: string) => void, parts: SocketLineParts) {
    this.#tell = tell;
    this.#parts = parts;
  }

  /** Null for what is not about sockets. */
  answer(method: string, text: string): Promise<string> | null {
    if (method === SOCKETS) return this.hear(text).then(() => "");
    return method === OPEN_SOCKET ? callMethod(this, "open", text) : null;
  }

  async open(...[number, credential, instance]: SocketAsked): Promise<unknown> {
    const socket = new LineSocket(number, this, this.#parts.table);
    this.#sockets.set(number, socket);
    try {
      return await this.#parts.intake.open(socket, credential, instance);
    } finally {
      if (socket.attachment === null) this.#sockets.delete(number);
      else if (this.#isOver) void this.#end(number);
    }
  }

  /** Resolves when all of it was carried out. */
  async hear(message: string): Promise<void> {
    const { texts, closes } = readSocketGroup(message);
    const work: Promise<void>[] = [];
    this.#parts.turns.together(() => {
      for (const { text, sockets } of texts) for (const number of sockets) work.push(this.#hear(number, text));
      for (const { socket } of closes) work.push(this.#end(socket));
    });
    await Promise.all(work);
  }

  ended(): void {
    this.#isOver = true;
    this.#parts.turns.together(() => {
      for (const number of this.#sockets.keys()) void this.#end(number);
    });
  }

  /** What is written in one stretch of the object's work goes as one message, unless it is long. */
  write(write: (group: SocketGroupWriter) => void): void {
    if (this.#group.isEmpty) queueMicrotask(() => this.#send());
    write(this.#group);
    if (this.#group.isFull) this.#send();
  }

  #send(): void {
    while (!this.#group.isEmpty) this.#tell(this.#group.take().text);
  }

  async #hear(number: number, text: string | null): Promise<void> {
    const socket = this.#sockets.get(number);
    if (socket === undefined) return;
    if (text === PING) socket.pingedAt = Date.now();
    else await this.#carryOut("hear", socket, this.#parts.intake.hear(socket, text));
  }

  async #end(number: number): Promise<void> {
    const socket = this.#sockets.get(number);
    // A socket that is still opening ends once it is open.
    if (socket === undefined || socket.attachment === null) return;
    this.#sockets.delete(number);
    socket.leave();
    await this.#carryOut("end", socket, this.#parts.intake.ended(socket));
  }

  /** A worker whose frame failed gets no answer: it comes back and reports again. */
  #carryOut(what: string, socket: TenantSocket, work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => {
      log("error", "socket.failed", { what }, error);
      socket.close(INTERNAL_ERROR, "an internal error: connect again");
    });
  }
}
