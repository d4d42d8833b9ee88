// Texts by HTTP to one of our own workerd processes and back, over a Unix socket: each on a connection of its own, which
// the next one uses again.

import { throwAway } from "./process-away.ts";
import { TextConnection } from "./text-connection.ts";

export class TextConnections {
  readonly #socketPath: string;
  readonly #connections = new Set<TextConnection>();
  /** Connections without a request, the last used at the end. */
  readonly #idle: TextConnection[] = [];

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  async post(path: string, body: string): Promise<string> {
    const connection = this.#reusable() ?? this.#open();
    const answer = await connection.ask(`POST ${path} HTTP/1.1\r\nhost: workerd\r\n`, body).catch(throwAway);
    this.#idle.push(connection);
    return answer;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  /** The connection that was used last; if it is stale, so are all older ones. */
  #reusable(): TextConnection | null {
    const last = this.#idle.pop();
    if (last === undefined || last.isFresh()) return last ?? null;
    last.close();
    for (const older of this.#idle.splice(0)) older.close();
    return null;
  }

  #open(): TextConnection {
    const connection = new TextConnection(this.#socketPath, (closed) => {
      this.#connections.delete(closed);
      const at = this.#idle.indexOf(closed);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    this.#connections.add(connection);
    return connection;
  }
}
