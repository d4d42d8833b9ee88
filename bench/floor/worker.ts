// The floor: what a Durable Object on plain workerd reaches when it is written only for these few calls. No keys, no
// validation, no history, no routing; the same durability: every answer and frame waits for the disk. Requests that
// arrive during a commit share the next one, like Signalbox's turns.

import { DurableObject } from "cloudflare:workers";

interface Env {
  FLOOR: DurableObjectNamespace<Floor>;
}

interface Job {
  id: number;
  prompt: string;
}

interface QueuedRun {
  run: () => unknown;
  resolve: (value: unknown) => void;
}

export class Floor extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #sockets: WebSocket[];
  readonly #outgoing = new Map<WebSocket, unknown[]>();
  #waiting: QueuedRun[] = [];
  #lastId: number;
  #turn = 0;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#sql = state.storage.sql;
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS jobs (id INTEGER PRIMARY KEY, status INTEGER, prompt TEXT, result TEXT)",
    );
    this.#sql.exec("CREATE INDEX IF NOT EXISTS pending ON jobs (id) WHERE status = 0");
    this.#lastId = (this.#sql.exec("SELECT COALESCE(MAX(id), 0) AS id FROM jobs").one().id as number) ?? 0;
    this.#sockets = state.getWebSockets();
  }

  create(prompt: string): Promise<unknown> {
    return this.#run(() => this.#insert(prompt, 0));
  }

  claim(): Promise<unknown> {
    return this.#run(() => {
      const [job] = this.#sql.exec("SELECT id, prompt FROM jobs WHERE status = 0 ORDER BY id LIMIT 1");
      if (job !== undefined) this.#sql.exec("UPDATE jobs SET status = 1 WHERE id = ?", job.id);
      return job ?? null;
    });
  }

  complete(id: number, result: string): Promise<unknown> {
    return this.#run(() => this.#finish(id, result));
  }

  /** Stores jobs and sends each to a worker's socket. */
  dispatch(prompts: string[]): Promise<unknown> {
    return this.#run(() => {
      const jobs = prompts.map((prompt) => this.#insert(prompt, 1));
      for (const job of jobs) {
        this.#turn = (this.#turn + 1) % this.#sockets.length;
        const socket = this.#sockets[this.#turn];
        if (socket !== undefined) this.#queue(socket, job);
      }
      return jobs;
    });
  }

  /** Stores a text, and sends it to every socket after the answer. */
  async tell(text: string): Promise<unknown> {
    const stored = await this.#run(() => this.#insert(text, 2));
    setTimeout(() => {
      for (const socket of this.#sockets) socket.send(text);
    }, 0);
    return stored;
  }

  override async fetch(): Promise<Response> {
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    this.ctx.acceptWebSocket(server);
    this.#sockets.push(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  override async webSocketMessage(socket: WebSocket, frame: string): Promise<void> {
    const done = JSON.parse(frame) as { id: number; result: string }[];
    for (const { id, result } of done) {
      void this.#run(() => {
        this.#finish(id, result);
        this.#queue(socket, { ack: id });
      });
    }
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    this.#sockets.splice(this.#sockets.indexOf(socket), 1);
  }

  #insert(prompt: string, status: number): Job {
    this.#lastId += 1;
    this.#sql.exec("INSERT INTO jobs (id, status, prompt) VALUES (?, ?, ?)", this.#lastId, status, prompt);
    return { id: this.#lastId, prompt };
  }

  #finish(id: number, result: string): { id: number } {
    this.#sql.exec("UPDATE jobs SET status = 2, result = ? WHERE id = ?", result, id);
    return { id };
  }

  #queue(socket: WebSocket, message: unknown): void {
    const queued = this.#outgoing.get(socket);
    if (queued === undefined) this.#outgoing.set(socket, [message]);
    else queued.push(message);
  }

  #run(run: () => unknown): Promise<unknown> {
    return new Promise((resolve) => {
      if (this.#waiting.length === 0) setTimeout(() => this.#stretch(), 0);
      this.#waiting.push({ run, resolve });
    });
  }

  #stretch(): void {
    const turns = this.#waiting;
    this.#waiting = [];
    const values = this.ctx.storage.transactionSync(() => turns.map((turn) => turn.run()));
    for (const [socket, messages] of this.#outgoing) socket.send(JSON.stringify(messages));
    this.#outgoing.clear();
    turns.forEach((turn, index) => {
      turn.resolve(values[index]);
    });
  }
}

interface Body {
  prompt: string;
  prompts: string[];
  id: number;
  result: string;
  text: string;
}

/** `/health`, else `/<object>/<verb>`. */
export default {
  fetch: async (request: Request, env: Env): Promise<Response> => {
    const [, object = "", verb] = new URL(request.url).pathname.split("/");
    if (object === "health") return new Response("ok");
    const floor = env.FLOOR.get(env.FLOOR.idFromName(object));
    if (verb === "connect") return floor.fetch(request);
    const body = (await request.json()) as Body;
    switch (verb) {
      case "create":
        return Response.json(await floor.create(body.prompt));
      case "claim":
        return Response.json(await floor.claim());
      case "complete":
        return Response.json(await floor.complete(body.id, body.result));
      case "dispatch":
        return Response.json(await floor.dispatch(body.prompts));
      case "tell":
        return Response.json(await floor.tell(body.text));
      default:
        return new Response("no such call", { status: 404 });
    }
  },
};
