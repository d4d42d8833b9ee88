// Sends the spans of finished jobs to an OpenTelemetry collector, one request at a time. If the collector is down or too
// slow, its spans are lost and nothing else happens: no job waits, nothing is stored.

import { headerPairs } from "../../contract/text/header-pairs.ts";
import { randomHex } from "../../contract/text/random-hex.ts";
import { VERSION } from "../../contract/words/version.ts";
import type { Job } from "../../domain/job/job.ts";
import { log } from "../../log/log.ts";
import { attributes, type Span, spansOf, type TimelineEvent } from "./spans.ts";

const TIMEOUT_MS = 10_000;
const JOBS_A_REQUEST = 200;
export const MAX_WAITING_JOBS = 2_000;
/** How often a failing collector is logged. */
const SAID_EVERY_MS = 60_000;

export interface OtlpSettings {
  /** The whole address, `…/v1/traces`. */
  readonly SERVICE_OTLP_URL?: string;
  /** `name=value,…` */
  readonly SERVICE_OTLP_HEADERS?: string;
  /** Self-hosted, the network with private addresses: the operator chooses the collector, so it may be private. */
  readonly LOCAL_NETWORK?: Fetcher;
}

const TIMELINES = `SELECT jobs.id AS job_id, value ->> 0 AS version, value ->> 1 AS at, 'job.' || (value ->> 2) AS type,
    value ->> 3 AS worker, coalesce(value ->> '$[5].provider', value ->> '$[5][0]') AS provider,
    coalesce(value ->> '$[5].error.code', value ->> '$[5].code') AS code
  FROM jobs, json_each(jobs.events) WHERE jobs.tenant = ?1 AND jobs.id IN (SELECT value FROM json_each(?2))
  UNION ALL SELECT job_id, version, at, type, worker, detail ->> '$.provider',
    coalesce(detail ->> '$.error.code', detail ->> '$.code') FROM events
  WHERE tenant = ?1 AND job_id IN (SELECT value FROM json_each(?2)) ORDER BY 1, 2`;

interface Row extends TimelineEvent {
  readonly job_id: string;
}

export class SpanExporter {
  readonly #settings: OtlpSettings;
  readonly #tenant: string;
  readonly #database: () => D1Database;
  #saidAt = 0;
  /** They wait for the request under way. */
  #waiting: Job[] = [];
  #isSending = false;

  constructor(settings: OtlpSettings, tenant: string, database: () => D1Database) {
    this.#settings = settings;
    this.#tenant = tenant;
    this.#database = database;
  }

  get isOn(): boolean {
    return (this.#settings.SERVICE_OTLP_URL ?? "") !== "";
  }

  /** The jobs are final and their timelines are in history. Never throws. */
  async export(jobs: readonly Job[]): Promise<void> {
    const taken = jobs.slice(0, MAX_WAITING_JOBS - this.#waiting.length);
    this.#waiting.push(...taken);
    if (taken.length < jobs.length) this.#say("the collector is slower than jobs end");
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      while (this.#waiting.length > 0) await this.#send(await this.#spansOf(this.#waiting.splice(0, JOBS_A_REQUEST)));
    } catch (error) {
      this.#waiting = [];
      this.#say((error as Error).message);
    } finally {
      this.#isSending = false;
    }
  }

  async #spansOf(jobs: readonly Job[]): Promise<Span[]> {
    const ids = JSON.stringify(jobs.map((job) => job.id));
    const { results } = await this.#database().prepare(TIMELINES).bind(this.#tenant, ids).all<Row>();
    const timelines = Map.groupBy(results, (row) => row.job_id);
    return jobs.flatMap((job) => spansOf(this.#tenant, job, timelines.get(job.id) ?? [], randomHex));
  }

  async #send(spans: readonly Span[]): Promise<void> {
    const { SERVICE_OTLP_URL: url = "", SERVICE_OTLP_HEADERS, LOCAL_NETWORK } = this.#settings;
    const resource = { attributes: attributes({ "service.name": "signalbox", "service.version": VERSION }) };
    const body = JSON.stringify({
      resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "signalbox", version: VERSION }, spans }] }],
    });
    const init = {
      method: "POST",
      redirect: "manual",
      headers: { ...Object.fromEntries(headerPairs(SERVICE_OTLP_HEADERS ?? "")), "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    } as const;
    const answer = await (LOCAL_NETWORK === undefined ? fetch(url, init) : LOCAL_NETWORK.fetch(url, init));
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`the collector answered ${answer.status}`);
  }

  #say(why: string): void {
    const nowAt = Date.now();
    if (nowAt - this.#saidAt < SAID_EVERY_MS) return;
    this.#saidAt = nowAt;
    const detail = `spans are lost until the collector accepts them: ${why}`;
    log("warn", "traces.failed", { tenant: this.#tenant, detail });
  }
}
