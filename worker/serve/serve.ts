// `signalbox/worker`: a function as a worker. It is the loop of the worker process with the function as its runtime:
// sockets, leases, reports, streams and reconnecting are the same code.

import * as z from "zod";
import { presenceRequest } from "../../contract/fleet/worker.ts";
import { isAddress, NOT_AN_ADDRESS, trimAddress } from "../../contract/text/address.ts";
import { isSendableKey, UNSENDABLE_KEY } from "../../contract/text/secret-text.ts";
import { tags } from "../../contract/words/field.ts";
import { refusalOf } from "../../contract/words/validation.ts";
import { LOCAL_URL, MAX_CONCURRENCY } from "../../contract/words/values.ts";
import { npmInstall, VERSION } from "../../contract/words/version.ts";
import { defaultInstance } from "../default-instance.ts";
import { versionWarning } from "../greeting.ts";
import { coordinatorFiles } from "../job-files.ts";
import { startWork, type Work } from "../start-work.ts";
import { createFunctionRuntime } from "./function-runtime.ts";
import type { Handler, ServedWorker, ServeOptions } from "./handler.ts";
import { drainOnSignal } from "./signals.ts";

export type { Context, Handler, Job, JobFile, ServedWorker, ServeOptions } from "./handler.ts";
export { Fail, Retry } from "./handler.ts";

/** As for the worker process: supervisors kill after ten seconds or more. */
const GRACE_MS = 8_000;

/**
 * Serves jobs with `handler` until it is drained. Resolves when the coordinator has accepted the worker; while there is
 * no coordinator, it keeps trying. @throws Error for wrong options, and when the coordinator refuses the worker.
 */
export const serve = async (options: ServeOptions, handler: Handler): Promise<ServedWorker> => {
  const { apiUrl, apiKey, identity, apis, log } = settle(options);
  let work: Work | null = null;
  const runtime = createFunctionRuntime({
    handler,
    name: identity.provider,
    url: apiUrl,
    concurrency: identity.concurrency,
    models: identity.models,
    apis,
    files: coordinatorFiles({ apiUrl, apiKey }),
    log,
    onStuck: () => work?.look(),
  });
  const { promise: accepted, resolve: accept } = Promise.withResolvers<null>();
  const onMessage = (message: { type: string; ok?: boolean }) => {
    if (message.type === "ack" && message.ok === true) accept(null);
  };
  const configUrl = `${apiUrl}/config`;
  const started = startWork({ apiUrl, apiKey, configUrl, identity, runtime, log, onMessage });
  const end = (graceMs: number) => started.then(({ drain }) => drain(graceMs));
  const forget = drainOnSignal(() => end(GRACE_MS));
  work = await started;
  void work.ended.then(forget);
  const refused = await Promise.race([accepted, work.ended]);
  if (refused !== null) throw new Error(refused);
  void versionWarning(apiUrl, npmInstall).then((words) => words !== null && log(words));
  void work.ended.then((reason) => {
    if (reason === null) return;
    log(reason);
    process.exitCode = 1;
  });
  return { instance: identity.instance, drain: () => end(GRACE_MS), close: () => end(0) };
};

/** Strict, so that a mistyped option is not a default without a word. */
const knownOptions = presenceRequest.pick({ provider: true, models: true, apis: true, tier: true }).extend({
  instance: presenceRequest.shape.instance.optional(),
  tags: tags.optional(),
  concurrency: z.int().min(1, "must be at least 1").max(MAX_CONCURRENCY).optional(),
  url: z.string().optional(),
  key: z.string().optional(),
  log: z.custom((given) => given === undefined || typeof given === "function", "must be a function").optional(),
} satisfies Partial<Record<keyof ServeOptions, z.ZodType>>);

const settle = (options: ServeOptions) => {
  const { provider, models = [], apis = [], concurrency = 1, tier = null } = options;
  const apiUrl = trimAddress(options.url ?? (process.env.SERVICE_API_URL || LOCAL_URL));
  if (!isAddress(apiUrl)) throw new Error(`url: "${apiUrl}" ${NOT_AN_ADDRESS}`);
  const apiKey = options.key ?? process.env.SERVICE_API_KEY;
  if (apiKey === undefined || apiKey === "") throw new Error("key: give one of role worker, or set SERVICE_API_KEY");
  if (!isSendableKey(apiKey)) throw new Error(`key: ${UNSENDABLE_KEY}`);
  const checked = knownOptions.safeParse(options);
  if (!checked.success) throw new Error(refusalOf(knownOptions, checked.error, options).detail);
  const instance = options.instance ?? defaultInstance(provider);
  const log = options.log ?? ((line: string) => console.error(`signalbox: ${line}`));
  const identity = {
    instance,
    provider,
    tags: (options.tags ?? []).join(","),
    models,
    tier,
    concurrency,
    version: VERSION,
  };
  return { apiUrl, apiKey, identity, apis, log };
};
