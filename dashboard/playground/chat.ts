// One conversation: turns, the current answer, and the usage of each answer.

import { batch, signal } from "@preact/signals";
import type { ChatMessage, ChatRequest } from "../../contract/client/front-door.ts";
import { eventsOf } from "../../contract/text/event-stream.ts";
import { parseJson } from "../../contract/text/json-object.ts";
import { answerText } from "../answer-text.ts";
import { api } from "../api.ts";
import { keepDraft, takeDraft } from "../state/drafts.ts";
import { whenUserChanges } from "../state/session.ts";

export interface Taken {
  readonly worker: string | null;
  readonly job: string | null;
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
  readonly tokens: number | null;
  readonly costUsd: number | null | undefined;
}

export interface ChatTurn extends ChatMessage {
  readonly taken?: Taken;
}

export const turns = signal<readonly ChatTurn[]>([]);
export const isTalking = signal(false);
export const chatError = signal<Error | null>(null);
let abort: AbortController | null = null;

const NOTHING_TAKEN: Taken = {
  worker: null,
  job: null,
  firstTokenMs: null,
  totalMs: null,
  tokens: null,
  costUsd: undefined,
};

interface Chunk {
  readonly usage?: { readonly completion_tokens?: number } | null;
  readonly error?: { readonly message: string };
}

const showAnswer = (content: string, taken: Taken): void => {
  turns.value = [...turns.peek().slice(0, -1), { role: "assistant", content, taken }];
};

/** Seconds; a job ends shortly after its last output. */
const MOST_WAIT = 5;

/** Known when the job has ended; without it the answer is whole nevertheless. */
const readEnd = async (job: string, taken: Taken, signal: AbortSignal): Promise<Taken> => {
  try {
    const { status, cost_usd, assigned_worker } = await api.jobs.get(job, { wait: MOST_WAIT, signal });
    const costUsd = status === "completed" ? cost_usd : undefined;
    return { ...taken, worker: assigned_worker ?? taken.worker, costUsd };
  } catch {
    return taken;
  }
};

const readAnswer = async (response: Response, startedAt: number, signal: AbortSignal): Promise<void> => {
  let text = "";
  let taken: Taken = {
    ...NOTHING_TAKEN,
    worker: response.headers.get("x-signalbox-worker"),
    job: response.headers.get("x-signalbox-job"),
  };
  if (response.body === null) return;
  for await (const { data } of eventsOf(response.body)) {
    // What was read before a stop may still come after it.
    if (signal.aborted) return;
    // `[DONE]` is no JSON.
    const chunk = parseJson(data) as Chunk | undefined;
    if (chunk === undefined) continue;
    if (chunk.error !== undefined) throw new Error(chunk.error.message);
    const more = answerText(chunk) ?? "";
    if (more !== "" && taken.firstTokenMs === null) taken = { ...taken, firstTokenMs: performance.now() - startedAt };
    if (chunk.usage?.completion_tokens !== undefined) taken = { ...taken, tokens: chunk.usage.completion_tokens };
    text += more;
    if (more !== "") showAnswer(text, taken);
  }
  taken = { ...taken, totalMs: performance.now() - startedAt };
  showAnswer(text, taken);
  if (taken.job === null) return;
  const ended = await readEnd(taken.job, taken, signal);
  if (!signal.aborted) showAnswer(text, ended);
};

/** Sends the text and follows the answer; what came before a failure or a stop stays. */
export const talk = async (request: ChatRequest, said: string, tags: string): Promise<void> => {
  const mine = new AbortController();
  abort = mine;
  const startedAt = performance.now();
  batch(() => {
    turns.value = [...turns.value, { role: "user", content: said }, { role: "assistant", content: "" }];
    isTalking.value = true;
    chatError.value = null;
  });
  try {
    const response = await api.frontDoor.chat(request, { tags, signal: mine.signal });
    await readAnswer(response, startedAt, mine.signal);
  } catch (error) {
    if (!mine.signal.aborted) chatError.value = error as Error;
    if (abort === mine && turns.peek().at(-1)?.content === "") turns.value = turns.peek().slice(0, -1);
  } finally {
    if (abort === mine) isTalking.value = false;
  }
};

export const stopTalking = (): void => {
  abort?.abort();
  isTalking.value = false;
};

export const beginAgain = (): void => {
  stopTalking();
  batch(() => {
    turns.value = [];
    chatError.value = null;
  });
};

const FORM = "playground: turns";

whenUserChanges(() => {
  if (turns.peek().length > 0) keepDraft(FORM, turns.peek());
  beginAgain();
});

/** What was said when the session ended. */
export const takeKeptTurns = (): void => {
  if (turns.peek().length === 0) turns.value = takeDraft<readonly ChatTurn[]>(FORM) ?? [];
};
