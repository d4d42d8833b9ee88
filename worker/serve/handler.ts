// What the author of a worker writes against: the handler, what it is given, and how it fails.

import type { Api, Tier } from "../../contract/words/values.ts";
import type { Usage } from "../apis/usage.ts";
import type { JobFailure } from "../calls/runtime.ts";
import type { JobFacts } from "../job-facts.ts";

export type ServeOptions = {
  /** The coordinator; default SERVICE_API_URL, else http://127.0.0.1:8787. */
  url?: string | undefined;
  /** A key of role worker or standard; default SERVICE_API_KEY. */
  key?: string | undefined;
  /** What jobs ask for. */
  provider: string;
  /** This worker's name, the same after a restart; default: the machine's name and the provider. */
  instance?: string | undefined;
  /** Absent: any model. */
  models?: readonly string[] | undefined;
  tags?: readonly string[] | undefined;
  /** The front-door APIs that it answers, by text or by answers of their own form; absent: ordinary jobs only. */
  apis?: readonly Api[] | undefined;
  /** Jobs at the same time; default 1. */
  concurrency?: number | undefined;
  tier?: Tier | undefined;
  /** Where the worker's own messages go; default: stderr. */
  log?: ((line: string) => void) | undefined;
};

export type JobFile = {
  id: string;
  name: string;
  bytes: number;
  content_type: string;
  /** Readable without a key, as long as the job may run. */
  url: string;
};

export type Job = JobFacts;

export type Context = {
  /** Aborted when the job is no longer this worker's: cancelled, halted, timed out, lost, or its reader is gone. */
  readonly signal: AbortSignal;
  readonly files: readonly JobFile[];
  /** Passes on a part of the answer while it is made; waiting for it keeps pace with the reader. */
  readonly emit: (part: string | Record<string, unknown>) => Promise<void>;
  /** `share` from 0 to 1. */
  readonly progress: (share: number, message?: string) => void;
  readonly usage: (usage: Usage) => void;
  /** US dollars. */
  readonly cost: (usd: number) => void;
  /** Keeps an output of the job: bytes, a stream of them, or the path of a file. */
  readonly file: (
    name: string,
    content: Uint8Array | AsyncIterable<Uint8Array> | string,
  ) => Promise<Record<string, unknown>>;
  readonly log: (...words: unknown[]) => void;
};

/** What it returns is the job's result; without a result, the text that it emitted, or the answer that its chunks make. */
export type Handler = (job: Job, context: Context) => unknown;

export type ServedWorker = {
  readonly instance: string;
  /** Takes no more jobs, lets running ones end for 8 s, gives back the rest, and ends. */
  readonly drain: () => Promise<void>;
  /** Gives back what is running, and ends. */
  readonly close: () => Promise<void>;
};

/** Fails the job, to be tried again, here or elsewhere. */
export class Retry extends Error {
  override readonly name = "Retry";
  readonly afterSeconds: number | null;

  constructor(message: string, { afterSeconds }: { afterSeconds?: number | undefined } = {}) {
    super(message);
    this.afterSeconds = afterSeconds ?? null;
  }
}

/** Fails the job for good, with a code of your own. */
export class Fail extends Error {
  override readonly name = "Fail";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** An output that was not kept; it fails the job unless the handler catches it. */
export class FileNotKept extends Error {
  override readonly name = "FileNotKept";
  readonly failure: JobFailure;

  constructor(failure: JobFailure) {
    super(failure.message);
    this.failure = failure;
  }
}
