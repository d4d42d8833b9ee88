// The SDK: the typed client, and methods that take more than one call. The entry point of the package `signalbox`; it
// runs in Node, browsers and edge workers and imports no package.

import type { StreamOptions } from "../contract/client/jobs.ts";
import { ApiProblem } from "../contract/client/problem.ts";
import type { JobStreamEvent } from "../contract/client/stream-events.ts";
import {
  type CallOptions,
  type ClientOptions,
  type KeyedOptions,
  Transport,
  unreachable,
} from "../contract/client/transport.ts";
import { whileAway } from "../contract/client/while-away.ts";
import { type Client, clientOver } from "../contract/client.ts";
import type { JobResource, NewJobRequest } from "../contract/jobs/job.ts";
import { isFinal, LOCAL_URL, MAX_WAIT_SECONDS } from "../contract/words/values.ts";
import { CreateTogether } from "./create-together.ts";
import { streamJob } from "./job-stream.ts";
import { nodeFetch } from "./node-fetch.ts";

export { ApiProblem, type ProblemCode } from "../contract/client/problem.ts";
export type { JobStreamEvent } from "../contract/client/stream-events.ts";
export type { JobResource, NewJobRequest } from "../contract/jobs/job.ts";
export { verifyWebhook, type WebhookEvent, WebhookRefused } from "./verify-webhook.ts";

export type SignalboxOptions = Omit<ClientOptions, "url"> & { readonly url?: string | undefined };

export type RunOptions = KeyedOptions;

const environment = (name: string): string | undefined => {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
};

/** Waits until a job is final, over as many requests as needed and while the service is away. */
const waitForJob = async (
  jobs: Pick<Client["jobs"], "get">,
  id: string,
  options: CallOptions = {},
): Promise<JobResource> => {
  for (;;) {
    const job = await whileAway(() => jobs.get(id, { ...options, wait: MAX_WAIT_SECONDS }), options);
    if (isFinal(job.status)) return job;
  }
};

const GONE_OR_NOT_YOURS: ReadonlySet<number> = new Set([403, 404]);

const wholeText = (content: Response, { signal }: CallOptions): Promise<string> =>
  content.text().catch((error: unknown) => {
    signal?.throwIfAborted();
    throw unreachable("", error);
  });

/** The job with its result, also where that is a file, because it is over 1 MiB. */
const getWhole =
  ({ jobs, files }: Client): Client["jobs"]["get"] =>
  async (id, options = {}) => {
    const job = await jobs.get(id, options);
    if (!job.result_file) return job;
    try {
      const content = await files.content(job.result_file.id, { signal: options.signal });
      return { ...job, result: JSON.parse(await wholeText(content, options)) as JobResource["result"] };
    } catch (error) {
      // Kept for a week, and not for viewers: the job shows where it was.
      if (error instanceof ApiProblem && GONE_OR_NOT_YOURS.has(error.status)) return job;
      throw error;
    }
  };

const jobsWithRuns = (jobs: Client["jobs"]) => ({
  ...jobs,
  wait: (id: string, options?: CallOptions): Promise<JobResource> => waitForJob(jobs, id, options),
  /**
   * Creates a job and waits until it is final: completed, failed or cancelled. Aborting `signal` does not cancel the
   * job.
   */
  run: async (job: NewJobRequest, { signal, idempotencyKey }: RunOptions = {}): Promise<JobResource> => {
    const created = await jobs.create(job, { signal, idempotencyKey });
    return waitForJob(jobs, created.id, { signal });
  },
  /** A job's output while it is written; a new job is created first. */
  stream: async function* (
    job: string | NewJobRequest,
    options: StreamOptions & Pick<KeyedOptions, "idempotencyKey"> = {},
  ): AsyncGenerator<JobStreamEvent> {
    if (typeof job === "string") return yield* streamJob(jobs, job, options);
    const { signal, idempotencyKey } = options;
    const { id } = await jobs.create({ ...job, stream: true }, { signal, idempotencyKey });
    yield* streamJob(jobs, id, options);
  },
});

type Nouns = Omit<Client, "jobs"> & { readonly jobs: ReturnType<typeof jobsWithRuns> };

const nounsOf = (options: SignalboxOptions): Nouns => {
  const { url = environment("SERVICE_API_URL") ?? LOCAL_URL, key = environment("SERVICE_API_KEY") } = options;
  const fetchWhole = options.fetch === undefined ? nodeFetch(url) : undefined;
  const client = clientOver(new Transport({ ...options, url, key }, fetchWhole));
  const { create } = new CreateTogether(client.jobs);
  return { ...client, jobs: jobsWithRuns({ ...client.jobs, create, get: getWhole(client) }) };
};

/** Has each part of the client as a field, also parts added later. */
const Base = class {
  constructor(nouns: Nouns) {
    Object.assign(this, nouns);
  }
} as unknown as new (
  nouns: Nouns,
) => Nouns;

export class Signalbox extends Base {
  /** Defaults: SERVICE_API_URL (else http://127.0.0.1:8787) and SERVICE_API_KEY. */
  constructor(options: SignalboxOptions = {}) {
    super(nounsOf(options));
  }
}
