// The worker protocol over plain HTTP, for networks without WebSockets. Every message becomes its request, and every
// answer becomes the message that the socket would have received. The reports of one job are sent in order.

import { setTimeout as delay } from "node:timers/promises";
import { problemResource } from "../contract/problem.ts";
import { claimAnswer, presenceAnswer } from "../contract/worker.ts";
import { backoffMs } from "./backoff.ts";
import { checkAddress } from "./check-address.ts";
import type { Report } from "./outbox.ts";
import {
  type Ending,
  explainRefusal,
  isRefusal,
  type Opened,
  problemDetail,
  type Session,
  type SessionHost,
  type SessionSettings,
  type WorkerMessage,
} from "./session.ts";

const CLAIM_WAIT_SECONDS = 25;
const MAX_CLAIM = 100;
const REQUEST_TIMEOUT_MS = 40_000;
const MAX_FAILURES_IN_A_ROW = 3;
const PRESENCE_LANE = "";
/** Well within the time that a lease may wait for its start. */
const START_AFTER_MS = 500;
const HASTY_CLAIM_MS = 1_000;
/** Time without a WebSocket before trying one again. */
const LIFETIME_MS = 300_000;
const CLOSE_TIMEOUT_MS = 2_000;

type Answer = { status: number; body: string; location: string | undefined };

type StartMessage = Extract<WorkerMessage, { type: "job.started" }>;

const PATHS = {
  "job.started": "start",
  "job.heartbeat": "heartbeat",
  // Over HTTP the stream's own request shows that it has begun.
  "job.streaming": "heartbeat",
  "job.completed": "complete",
  "job.failed": "fail",
  "job.released": "release",
  // A report with an ended lease is refused, but its cost is counted.
  "job.spent": "fail",
} as const satisfies Record<Report["type"], string>;

const HALTED = { code: "halted", message: "the job was halted while it ran", retryable: false };

export type HttpSessionOptions = SessionSettings & { fetch?: typeof fetch; random?: () => number };

/** A server that refuses a WebSocket may not be a coordinator at all. */
export async function openHttpSession(options: HttpSessionOptions, host: SessionHost): Promise<Opened> {
  const checked = await checkAddress(options.apiUrl, options.fetch);
  if (checked.kind === "wrong") return { ok: false, kind: "refused", reason: checked.reason };
  if (checked.kind === "unreachable") return { ok: false, kind: "unreachable", reason: checked.reason };
  return { ok: true, session: new HttpSession(options, host) };
}

class HttpLine {
  readonly #options: HttpSessionOptions;
  readonly #closing = new AbortController();

  constructor(options: HttpSessionOptions) {
    this.#options = options;
  }

  /** @throws if there is no answer. */
  async request(method: string, path: string, body?: unknown): Promise<Answer> {
    const { apiUrl, apiKey, fetch: send = fetch } = this.#options;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const response = await send(apiUrl + path, {
      method,
      headers,
      redirect: "manual",
      signal: AbortSignal.any([this.#closing.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      body: await response.text(),
      location: response.headers.get("location") ?? undefined,
    };
  }

  abort(): void {
    this.#closing.abort();
  }
}

class HttpSession implements Session {
  readonly kind = "http";
  readonly ended: Promise<Ending>;
  readonly #line: HttpLine;
  readonly #options: HttpSessionOptions;
  readonly #host: SessionHost;
  /** The last request of each job; the next one waits for it. */
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #inFlight = new Set<string>();
  readonly #end: (ending: Ending) => void;
  /** Starts that are held back briefly. */
  readonly #starts = new Map<string, { message: StartMessage; timer: NodeJS.Timeout }>();
  /** Results in transit whose answers bring leases; until then no other claim is sent. */
  #claimingResults = 0;
  #isOpen = true;
  /** Jobs are claimed only after the coordinator has accepted a presence report. */
  #isKnown = false;
  #failures = 0;
  #wakeClaim = () => {};

  constructor(options: HttpSessionOptions, host: SessionHost) {
    this.#line = new HttpLine(options);
    this.#options = options;
    this.#host = host;
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.ended = promise;
    const retire = setTimeout(() => this.#finish({ kind: "lost", reason: "trying a WebSocket again" }), LIFETIME_MS);
    this.#end = (ending) => {
      clearTimeout(retire);
      resolve(ending);
    };
  }

  send(message: WorkerMessage): void {
    if (!this.#isOpen || this.#inFlight.has(message.id)) return;
    // A heartbeat adds nothing to a report of the job that is still in transit.
    if (message.type === "job.heartbeat" && this.#lanes.has(message.job_id)) return;
    if (message.type === "job.started") {
      this.#startLater(message);
      return;
    }
    this.#settleStart(message);
    this.#enqueue(message);
  }

  #enqueue(message: WorkerMessage): void {
    const lane = message.type === "presence" ? PRESENCE_LANE : message.job_id;
    const isResult = message.type === "job.completed";
    this.#inFlight.add(message.id);
    if (isResult) this.#claimingResults += 1;
    // No report may overtake the presence report before it: a running job that is missing from that would be taken for
    // lost.
    const before = [this.#lanes.get(lane), this.#lanes.get(PRESENCE_LANE)];
    const sent = Promise.all(before)
      .then(() => this.#post(message))
      .finally(() => {
        this.#inFlight.delete(message.id);
        if (isResult) this.#claimingResults -= 1;
        if (isResult) this.#wakeClaim();
        if (this.#lanes.get(lane) === sent) this.#lanes.delete(lane);
      });
    this.#lanes.set(lane, sent);
  }

  /** A job that finishes at once needs no start: its result is enough. */
  #startLater(message: StartMessage): void {
    const { job_id: jobId } = message;
    if (this.#starts.has(jobId)) return;
    const timer = setTimeout(() => this.#start(jobId), START_AFTER_MS);
    timer.unref();
    this.#starts.set(jobId, { message, timer });
  }

  #start(jobId: string): void {
    const start = this.#starts.get(jobId);
    if (start === undefined || !this.#isOpen) return;
    clearTimeout(start.timer);
    this.#starts.delete(jobId);
    this.#enqueue(start.message);
  }

  /** Before other messages of a job its start must be sent; a result replaces the start. */
  #settleStart(message: WorkerMessage): void {
    if (message.type === "presence") return;
    const start = this.#starts.get(message.job_id);
    if (start === undefined) return;
    if (message.type !== "job.completed") {
      this.#start(message.job_id);
      return;
    }
    clearTimeout(start.timer);
    this.#starts.delete(message.job_id);
    this.#host.receive({ type: "ack", id: start.message.id, ok: true });
  }

  ping(): void {}

  slotsChanged(): void {
    this.#wakeClaim();
  }

  close(): void {
    const settled = Promise.allSettled(this.#lanes.values());
    const ending: Ending = { kind: "lost", reason: "closed" };
    void Promise.race([settled, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]).then(() => this.#finish(ending));
    this.#isOpen = false;
    this.#wakeClaim();
  }

  #finish(ending: Ending): void {
    this.#isOpen = false;
    this.#line.abort();
    this.#wakeClaim();
    this.#end(ending);
  }

  async #post(message: WorkerMessage): Promise<void> {
    const { type, id, ...fields } = message;
    if (type === "presence") {
      const answer = await this.#attempt("POST", "/presence", fields);
      if (answer?.status === 200) this.#receivePresence(id, answer.body);
      else if (answer) this.#receiveProblem(id, answer);
      return;
    }
    const { job_id, ...told } = fields as { job_id: string };
    if (type === "job.completed") {
      await this.#complete(id, job_id, told);
      return;
    }
    const report = type === "job.spent" ? { ...told, error: HALTED } : told;
    const answer = await this.#attempt("POST", `/api/jobs/${encodeURIComponent(job_id)}/${PATHS[type]}`, report);
    if (answer === null) return;
    if (answer.status >= 200 && answer.status < 300) this.#host.receive({ type: "ack", id, ok: true });
    else this.#receiveProblem(id, answer);
  }

  /** One call per job: the answer to its result brings the next lease. */
  async #complete(id: string, jobId: string, report: object): Promise<void> {
    const max = Math.min(this.#host.freeSlots(), MAX_CLAIM);
    const path = `/api/jobs/${encodeURIComponent(jobId)}/complete${max > 0 ? `?claim=${max}` : ""}`;
    const answer = await this.#attempt("POST", path, report);
    if (answer !== null && (answer.status < 200 || answer.status >= 300)) this.#receiveProblem(id, answer);
    else if (answer !== null) {
      this.#host.receive({ type: "ack", id, ok: true });
      const leases = claimAnswer.safeParse(parseJson(answer.body));
      for (const job of leases.data?.jobs ?? []) this.#host.receive({ type: "job.assigned", job });
    }
  }

  #receivePresence(id: string, body: string): void {
    const answer = presenceAnswer.safeParse(parseJson(body));
    if (!answer.success) {
      this.#countFailure("the answer to a presence report has the wrong format");
      return;
    }
    this.#host.receive({ type: "ack", id, ok: true, ...answer.data });
    if (!this.#isKnown) void this.#claimForever();
    this.#isKnown = true;
  }

  #receiveProblem(id: string, { status, body }: Answer): void {
    const parsed = problemResource.safeParse(parseJson(body));
    const bare = { type: "about:blank", title: `HTTP ${status}`, status, detail: "", instance: "", code: "unknown" };
    this.#host.receive({ type: "ack", id, ok: false, problem: parsed.success ? parsed.data : bare });
  }

  /** The answer, or null if there is none: the coordinator is down or overloaded, or this session ends. */
  async #attempt(method: string, path: string, body: unknown): Promise<Answer | null> {
    try {
      const answer = await this.#line.request(method, path, body);
      if (isRefusal(answer.status)) {
        const reason = explainRefusal(answer.status, problemDetail(answer.body), this.#options, answer.location);
        this.#finish({ kind: "refused", reason });
        return null;
      }
      if (answer.status < 500 && answer.status !== 429 && answer.status !== 408) {
        this.#failures = 0;
        return answer;
      }
      this.#countFailure(`HTTP ${answer.status} ${problemDetail(answer.body)}`.trim());
    } catch (error) {
      // The connection is lost, as when a socket closes: a new session starts with presence and everything
      // unacknowledged.
      this.#finish({ kind: "lost", reason: reasonOf(error) });
    }
    return null;
  }

  #countFailure(reason: string): void {
    this.#failures += 1;
    if (!this.#isKnown || this.#failures >= MAX_FAILURES_IN_A_ROW) this.#finish({ kind: "lost", reason });
  }

  async #claimForever(): Promise<void> {
    const path = `/api/workers/${encodeURIComponent(this.#options.instance)}/claim?wait=${CLAIM_WAIT_SECONDS}`;
    let hasty = 0;
    while (this.#isOpen) {
      const max = this.#claimingResults > 0 ? 0 : Math.min(this.#host.freeSlots(), MAX_CLAIM);
      if (max === 0) {
        await new Promise<void>((resolve) => {
          this.#wakeClaim = resolve;
        });
        continue;
      }
      const askedAt = performance.now();
      const jobs = await this.#claim(path, max);
      for (const job of jobs) this.#host.receive({ type: "job.assigned", job });
      // Paused and refused workers are answered at once; without a pause this would be a tight loop.
      const isHasty = jobs.length === 0 && performance.now() - askedAt < HASTY_CLAIM_MS;
      hasty = isHasty ? hasty + 1 : 0;
      if (isHasty) await delay(backoffMs(hasty, (this.#options.random ?? Math.random)()), undefined, { ref: false });
    }
  }

  async #claim(path: string, max: number) {
    const answer = await this.#attempt("POST", path, { max });
    const parsed = answer?.status === 200 ? claimAnswer.safeParse(parseJson(answer.body)) : null;
    return parsed?.success ? parsed.data.jobs : [];
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
