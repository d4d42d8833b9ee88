// Checks everything a job needs, in the order in which a job needs it. A failed check skips the checks that depend on
// it.

import { ApiProblem } from "../contract/client/problem.ts";
import { createClient } from "../contract/client.ts";
import type { WorkerDetail, WorkerResource } from "../contract/fleet/worker.ts";
import type { JobResource } from "../contract/jobs/job.ts";
import { objectOf } from "../contract/text/json-object.ts";
import { listedKeysOf, MAX_RUNTIME_MODELS, modelKeyOf } from "../contract/words/values.ts";
import { packageAt, VERSION } from "../contract/words/version.ts";
import type { Signalbox } from "../sdk/signalbox.ts";
import type { Finding } from "./verdict.ts";

export interface Check extends Finding {
  readonly what: "address" | "key" | "clock" | "killswitch" | "worker" | "runtime" | "model" | "job";
}

interface Wanted {
  readonly model?: string;
  readonly provider?: string;
  readonly tags: readonly string[];
}

/** Waits for a job's end and says meanwhile what it waits for. */
type FollowJob = (id: string, signal: AbortSignal) => Promise<JobResource>;

const MAX_CLOCK_SKEW_MS = 30_000;
const SMALL_JOB_MS = 60_000;
/** Each costs a request. */
const MAX_LOOKED_AT = 20;

const good = (what: Check["what"], says: string): Check => ({ what, verdict: "good", says });
const warning = (what: Check["what"], says: string): Check => ({ what, verdict: "warning", says });
const bad = (what: Check["what"], says: string): Check => ({ what, verdict: "bad", says });

export async function* examine(
  client: Signalbox,
  { url, key }: { url: string; key: string | undefined },
  wanted: Wanted,
  followJob: FollowJob | null,
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const address = await checkAddress(url, signal);
  yield* address;
  if (address.some(({ verdict }) => verdict === "bad")) return;
  const caller = await checkKey(client, key, signal);
  yield caller;
  if (caller.verdict === "bad") return;
  try {
    yield await checkKillswitch(client, signal);
    const { workers } = await client.workers.present({ signal });
    yield* checkWorkers(workers);
    yield* await checkRuntimeModels(client, workers, signal);
    yield await checkModel(client, wanted, signal);
    if (followJob !== null) yield await checkJob(client, wanted, followJob, signal);
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status !== 403) throw error;
    yield warning("worker", "this key may run jobs but not list workers: use a standard key for the other checks");
  }
}

/** The service's clock is read from the answer's Date header. */
const checkAddress = async (url: string, signal: AbortSignal): Promise<Check[]> => {
  let date: string | null = null;
  const noting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    date = response.headers.get("date");
    return response;
  };
  try {
    const { version } = objectOf(await createClient({ url, fetch: noting, retries: 0 }).service.health({ signal }));
    // Many services answer any path with JSON of their own.
    if (typeof version !== "string")
      return [bad("address", `${url} is not Signalbox's address: its /health names no version`)];
    const found =
      version === VERSION
        ? good("address", `${url}, version ${version}`)
        : warning("address", `${url} is version ${version}, this command ${VERSION}: use ${packageAt(url, version)}`);
    return [found, checkClock(date)];
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const isOther = error.code === "unexpected_answer" || error.code === "not_found";
    return [bad("address", isOther ? `${url} is not Signalbox's address: ${error.message}` : error.message)];
  }
};

const checkClock = (date: string | null): Check => {
  if (date === null) return warning("clock", "the service sends no Date header");
  const skewMs = Date.now() - Date.parse(date);
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) <= MAX_CLOCK_SKEW_MS) return good("clock", "agrees with the service's");
  return warning("clock", `${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the service's: set this machine's time`);
};

const checkKey = async (client: Signalbox, key: string | undefined, signal: AbortSignal): Promise<Check> => {
  if (key === undefined) return bad("key", "none: set SERVICE_API_KEY, or run `signalbox login`");
  try {
    const { name, role, tenant } = await client.session.get({ signal });
    return good("key", `"${name}", role ${role}, tenant ${tenant}`);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    return bad("key", error.message);
  }
};

const checkKillswitch = async (client: Signalbox, signal: AbortSignal): Promise<Check> => {
  const { active, level, reason } = await client.killswitch.get({ signal });
  if (!active) return good("killswitch", "off");
  const why = reason === null ? "" : ` (${reason})`;
  return bad("killswitch", `at level ${level}${why}: \`signalbox killswitch off --resume-all\` clears it`);
};

/** Workers of older releases do not have this field. */
type AbleWorker = WorkerResource & { readonly unavailable?: string | null };

const checkWorkers = (workers: readonly AbleWorker[]): Check[] => {
  if (workers.length === 0) return [bad("worker", "none is online: start one with `signalbox worker`")];
  const able = workers.filter(({ paused }) => !paused);
  const names = able.map(({ instance }) => instance).join(", ");
  if (able.length === 0)
    return [bad("worker", `every one is paused (${workers.length}): \`signalbox workers resume <name>\` resumes one`)];
  const unavailable = able.flatMap(({ instance, unavailable }) => (unavailable ? [`${instance}: ${unavailable}`] : []));
  const runtime =
    unavailable.length === 0
      ? good("runtime", `answers: ${[...new Set(able.map(({ provider }) => provider))].join(", ")}`)
      : (unavailable.length === able.length ? bad : warning)("runtime", unavailable.join("; "));
  return [good("worker", `${able.length} of ${workers.length}: ${names}`), runtime];
};

/** Workers that name models that their runtime does not have, e.g. because it lost one. */
const checkRuntimeModels = async (
  client: Signalbox,
  workers: readonly AbleWorker[],
  signal: AbortSignal,
): Promise<Check[]> => {
  const naming = workers.filter(({ paused, unavailable, models }) => !paused && !unavailable && models !== null);
  const looked = await Promise.all(
    naming.slice(0, MAX_LOOKED_AT).map(({ instance }) => client.workers.get(instance, { signal })),
  );
  return looked.flatMap((worker) => {
    const lost = lostModelsOf(worker);
    if (lost.length === 0) return [];
    const verdict = lost.length === worker.models?.length ? bad : warning;
    const says = `${worker.instance}: its runtime does not have ${lost.join(", ")}: load it there, or start the worker with other --models`;
    return [verdict("runtime", says)];
  });
};

/** A list that may have been cut proves nothing about models that it does not name. */
const lostModelsOf = ({
  models,
  runtime_models: listed,
}: Pick<WorkerDetail, "models" | "runtime_models">): string[] => {
  if (models === null || listed == null || listed.length >= MAX_RUNTIME_MODELS) return [];
  const keys = new Set(listed.flatMap(listedKeysOf));
  return models.filter((model) => !keys.has(modelKeyOf(model)));
};

const checkModel = async (client: Signalbox, { tags, ...wanted }: Wanted, signal: AbortSignal): Promise<Check> => {
  const found = await client.jobs.explain({ ...wanted, job_tags: tags.join(",") }, { signal });
  const what = wanted.model ?? "a job without a model";
  if (found.selected !== null) return good("model", `${found.selected} would get ${what}`);
  const alike = Map.groupBy(found.workers, ({ reasons }) => reasons.join(", "));
  const reasons = [...alike].map(
    ([reason, of]) => `${of.length > 1 ? `${of.length} workers` : of[0]?.instance}: ${reason}`,
  );
  const why = [...found.notes, ...reasons].join("; ") || "none is online";
  return bad("model", `no worker would get ${what}: ${why}`);
};

const checkJob = async (
  client: Signalbox,
  { tags, ...wanted }: Wanted,
  followJob: FollowJob,
  signal: AbortSignal,
): Promise<Check> => {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(SMALL_JOB_MS)]);
  const asked = { prompt: "Say hello.", tags: [...tags], ...wanted };
  const created = await client.jobs.create(asked, { signal }).catch((error) => {
    if (error instanceof ApiProblem) return error;
    throw error;
  });
  if (created instanceof ApiProblem) return bad("job", `none can be created: ${created.message}`);
  try {
    const job = await followJob(created.id, inTime);
    if (job.status === "completed") return good("job", `${job.id} completed on ${job.assigned_worker}`);
    return bad("job", `${job.id} ${job.status}: ${job.error?.message ?? ""}`);
  } catch (error) {
    // Nobody waits for it any more, also after an interrupt.
    const cancelled = client.jobs.cancel(created.id);
    if (signal.aborted || !inTime.aborted) {
      await cancelled.catch(() => undefined);
      throw error;
    }
    const { status, waiting_reason } = await cancelled;
    return bad("job", `${created.id} was not done within a minute (${waiting_reason ?? status}) and was cancelled`);
  }
};
