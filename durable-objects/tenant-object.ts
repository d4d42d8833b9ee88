// A tenant's object as the platform and the edge call it. Each request, frame and alarm becomes a turn, and no caller is
// answered before its turn is stored.

import { DurableObject } from "cloudflare:workers";
import { SWITCHING_PROTOCOLS } from "../contract/words/http-status.ts";
import type { Refusal } from "../domain/words/refusal.ts";
import { ok, type Result } from "../domain/words/result.ts";
import { configureLog, log } from "../log/log.ts";
import { type AnswerOf, OPERATIONS, type OperationName, type RequestOf } from "./api.ts";
import { answerGroup, answerText, thrownLine } from "./calls/grouped-calls.ts";
import { SERVICE } from "./calls/turn-runner.ts";
import { SocketLine } from "./sockets/line-sockets.ts";
import { ALONE, callMethod, GROUP, LINE_URL, type LineEnd, openLine } from "./sockets/object-line.ts";
import type { Credential } from "./steps/holders.ts";
import { nextWakeAt, readTimetable } from "./sweep/sweep.ts";
import type { TenantEnv } from "./tenant-env.ts";
import { makeParts, type TenantParts } from "./tenant-parts.ts";

/** After a failed sweep the alarm fires again after this time. */
const FAILED_SWEEP_RETRY_MS = 5_000;

export class TenantObject extends DurableObject<TenantEnv> {
  protected readonly parts: TenantParts;

  constructor(state: DurableObjectState, env: TenantEnv) {
    super(state, env);
    configureLog(env);
    this.parts = makeParts(state, env);
  }

  /** Any operation of `api.ts`, authenticated and run in one turn. */
  async call<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<Result<AnswerOf<Name>, Refusal>> {
    return this.parts.operations.call(credential, name, request);
  }

  /** One call as text (`grouped-calls.ts`). */
  async callText(text: string): Promise<string> {
    return answerText(
      text,
      async (credential, name, request) => {
        if (this.#mustWait(name)) await this.parts.history.roomFor(text.length);
        return this.call(credential, name, request);
      },
      this.parts.databaseNumber,
    );
  }

  /** New jobs are what makes history longer. */
  #mustWait(name: OperationName): boolean {
    return OPERATIONS[name].kind === "create" && this.parts.history.isHeld;
  }

  /** The calls of the edge in Node on its line. */
  #onLine(tell: (text: string) => void): LineEnd {
    const sockets = new SocketLine(tell, {
      intake: this.parts.intake,
      turns: this.parts.turns,
      table: this.parts.lineSockets,
    });
    return {
      answer: (method, text) => sockets.answer(method, text) ?? this.#answer(method, text),
      hear: (text) => void sockets.hear(text),
      ended: () => sockets.ended(),
    };
  }

  #answer(method: string, text: string): Promise<string> {
    if (method === ALONE) return this.callText(text).catch(thrownLine);
    if (method !== GROUP) return callMethod(this, method, text);
    return answerGroup(
      text,
      (begin) => this.parts.turns.together(begin),
      (...call) => this.parts.operations.callInTurn(...call),
      this.parts.databaseNumber,
      (name) => this.#mustWait(name),
    );
  }

  /** Called by the Cron Trigger for a tenant whose alarm is long overdue. */
  async poke(): Promise<void> {
    await this.alarm();
    await this.parts.history.noteWake();
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.url === LINE_URL) return openLine((tell) => this.#onLine(tell));
    const credential = JSON.parse(request.headers.get("x-signalbox-credential") ?? "{}") as Credential;
    const instance = request.headers.get("x-signalbox-instance");
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    const accepted = await this.parts.intake.open(this.parts.hibernating.of(server), credential, instance);
    if (!accepted.ok) return Response.json(accepted.error, { status: 403 });
    return new Response(null, { status: SWITCHING_PROTOCOLS, webSocket: client });
  }

  override async webSocketMessage(socket: WebSocket, frame: string | ArrayBuffer): Promise<void> {
    await this.parts.intake.hear(this.parts.hibernating.of(socket), typeof frame === "string" ? frame : null);
  }

  override async webSocketClose(socket: WebSocket): Promise<void> {
    await this.parts.intake.ended(this.parts.hibernating.of(socket));
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.parts.intake.ended(this.parts.hibernating.of(socket));
  }

  /** Runs the timetable; never throws, always sets the next alarm. */
  override async alarm(): Promise<void> {
    const { wake, turns, history } = this.parts;
    try {
      await wake.begin();
      if (turns.memory.absence !== null) return wake.end(null);
      wake.end(await this.#sweep());
    } catch (error) {
      log("error", "alarm.failed", { tenant: this.ctx.id.name }, error);
      wake.backOff(FAILED_SWEEP_RETRY_MS);
    }
    history.start();
  }

  /** Does what is due. Resolves to when anything is due next. */
  async #sweep(): Promise<number | null> {
    const { due, nextAt } = await this.parts.turns.read(readTimetable);
    if (due.length === 0) return nextAt;
    const swept = due.map(({ what, run }) =>
      this.parts.turns
        .decide(SERVICE, (turn) => ok(run(turn)))
        .catch((error: unknown) => {
          log("error", "sweep.failed", { tenant: this.ctx.id.name, what }, error);
          this.parts.turns.countSweepFailure(what);
          throw error;
        }),
    );
    await Promise.all(swept);
    return this.parts.turns.read(nextWakeAt);
  }
}
