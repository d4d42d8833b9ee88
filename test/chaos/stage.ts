// What all actors of a run share: the server's address, calls, the record, randomness, and whether faults are on.

import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../simulation/platform/random.ts";
import type { Answer, History } from "./history.ts";

const CALL_TIMEOUT_MS = 5_000;
const REPEAT_AFTER_MS = 25;
/** Refusals that mean "not now": the call may be repeated, and its outcome is still open. */
const NOT_NOW: ReadonlySet<string> = new Set([
  "history_backlog",
  "history_unavailable",
  "overloaded",
  "tenant_unavailable",
]);

export const isNotNow = (code: string): boolean => NOT_NOW.has(code);

export interface Stage {
  readonly random: Random;
  readonly history: History;
  readonly adminKey: string;
  /** Through the proxy that cuts connections. */
  readonly rough: string;
  /** Through the proxy that cuts nothing: here only a kill loses an answer. */
  readonly smooth: string;
  /** Faults on: clients create, workers misbehave. Off: the rest is finished in order. */
  isRough: boolean;
  isOver: boolean;
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

/** One call; null if no complete answer came, so it is unknown what the server did. */
export const callOnce = async (stage: Stage, at: string, call: Call): Promise<Answer | null> => {
  stage.history.callCount += 1;
  const answer = await answerTo(stage, at, call);
  if (answer === null) stage.history.unansweredCount += 1;
  else if (answer.status >= 500 && answer.status !== 503) {
    const { method, path } = call;
    const body = JSON.stringify(answer.body);
    stage.history.add({ kind: "broken", call: `${method} ${path}`, status: answer.status, body });
  }
  return answer !== null && (isNotNow(answer.code ?? "") || answer.status === 500) ? null : answer;
};

const answerTo = async (stage: Stage, at: string, call: Call): Promise<Answer | null> => {
  try {
    const response = await fetch(`${at}${call.path}`, {
      method: call.method,
      headers: {
        authorization: `Bearer ${stage.adminKey}`,
        ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        ...(call.idempotencyKey === undefined ? {} : { "idempotency-key": call.idempotencyKey }),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const text = await response.text();
    const body: unknown = text === "" ? null : JSON.parse(text);
    return { status: response.status, code: response.ok ? null : String((body as { code?: string }).code), body };
  } catch {
    return null;
  }
};

const LOOK_EVERY_MS = 50;

/** A pause that ends early if the run is over. */
export const pauseWithin = async (stage: Stage, ms: number): Promise<void> => {
  const until = performance.now() + ms;
  while (!stage.isOver && performance.now() < until)
    await pause(Math.min(LOOK_EVERY_MS, Math.max(0, until - performance.now())));
};

/** Repeats a call until it is answered; null only if the run is over. */
export const callUntilAnswered = async (stage: Stage, at: string, call: Call): Promise<Answer | null> => {
  while (!stage.isOver) {
    const answer = await callOnce(stage, at, call);
    if (answer !== null) return answer;
    await pause(REPEAT_AFTER_MS * (1 + stage.random.next()));
  }
  return null;
};
