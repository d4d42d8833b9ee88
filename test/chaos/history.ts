// The record of a run: each request and its answer, null if there was none. Written during the faults and checked
// afterwards; it contains no interpretation.

import type { JobResource } from "../../contract/jobs/job.ts";

export interface Answer {
  readonly status: number;
  /** The problem's code; null for a success. */
  readonly code: string | null;
  readonly body: unknown;
}

export type Verb = "start" | "heartbeat" | "complete" | "fail" | "release";

export type Entry =
  | {
      readonly kind: "create";
      /** Null for a call that cannot be repeated. */
      readonly key: string | null;
      readonly prompts: readonly string[];
      readonly jobIds: readonly string[] | null;
      readonly code: string | null;
    }
  | { readonly kind: "handed"; readonly worker: string; readonly jobId: string; readonly lease: number }
  | {
      readonly kind: "report";
      readonly verb: Verb;
      readonly worker: string;
      readonly jobId: string;
      readonly lease: number;
      /** Found again in the job's result or error. */
      readonly mark: string;
      readonly costNanoUsd: number;
      /** "ok", a refusal's code, or null without an answer. */
      readonly outcome: string | null;
    }
  | { readonly kind: "read"; readonly reader: string; readonly jobId: string; readonly job: Seen }
  | { readonly kind: "halt"; readonly answeredAt: number; readonly clearedAt: number }
  | { readonly kind: "broken"; readonly call: string; readonly status: number; readonly body: string };

type Seen = Pick<JobResource, "status" | "lease" | "prompt">;
export type EntryOf<Kind extends Entry["kind"]> = Extract<Entry, { kind: Kind }>;

export class History {
  readonly entries: Entry[] = [];
  callCount = 0;
  unansweredCount = 0;

  add(entry: Entry): void {
    this.entries.push(entry);
  }

  of<Kind extends Entry["kind"]>(kind: Kind): EntryOf<Kind>[] {
    return this.entries.filter((entry): entry is EntryOf<Kind> => entry.kind === kind);
  }
}
