// Messages of each socket that are not answered yet. A worker has at most some thousand jobs, so a socket with more
// messages than this does not wait for its acks, and they would fill the memory.

import type { TenantSocket } from "./tenant-socket.ts";

export const MAX_MESSAGES = 4_000;
export const MAX_CHARS_UNDER_WAY = 16 * 1024 * 1024;

interface Count {
  messages: number;
  chars: number;
}

export class MessagesUnderWay {
  readonly #counts = new WeakMap<TenantSocket, Count>();

  /** Call the result to end these messages; null if there are too many. */
  enter(socket: TenantSocket, messages: number, chars: number): (() => void) | null {
    const count = this.#counts.get(socket) ?? { messages: 0, chars: 0 };
    if (count.messages + messages > MAX_MESSAGES || count.chars + chars > MAX_CHARS_UNDER_WAY) return null;
    this.#counts.set(socket, count);
    count.messages += messages;
    count.chars += chars;
    return () => {
      count.messages -= messages;
      count.chars -= chars;
    };
  }
}
