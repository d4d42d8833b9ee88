// The fuzzer's keys and objects: a key of every role, and resources with real ids that it may spoil.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import type { OpenApi } from "./document.ts";
import { send, type WireAnswer } from "./wire.ts";

export const ROLES = ["admin", "standard", "worker", "revoked", "none", "garbage", "root"] as const;
export type Role = (typeof ROLES)[number];

const ROOT_KEY = "root-key-of-the-fuzzer-0123456789";
const MAX_IDS = 24;

export interface World {
  readonly server: SelfHosted;
  readonly document: OpenApi;
  /** `Authorization`; null for none. */
  readonly bearer: (role: Role) => string | null;
  readonly call: (role: Role, method: string, target: string, body?: unknown) => Promise<WireAnswer>;
  /** Real ids for a path like `/api/jobs/{id}`, the newest first. */
  readonly idsOf: (path: string) => readonly string[];
  /** Remembers the ids in an answer, so that later requests use existing resources. */
  readonly learn: (path: string, answer: WireAnswer) => void;
  /** Undoes what one operation may have done to all others: killswitch, config, spent resources. */
  readonly restore: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export const parsed = <T = Record<string, unknown>>({ text }: WireAnswer): T => JSON.parse(text) as T;

const rootOf = (path: string): string => path.split("/{")[0]?.replace(/\/(batch|preview)$/, "") ?? path;

/** The process that the edge is in. */
export const HOMES = ["node", "workerd"] as const;

export const openWorld = async (home: (typeof HOMES)[number]): Promise<World> => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "signalbox-fuzz-"));
  const env = { SERVICE_ROOT_KEY: ROOT_KEY, SERVICE_CATALOG_SYNC: "0" };
  const server = await startSelfHosted(dataDir, { env, args: ["--no-worker", "--edge", home] });
  const keys = new Map<Role, string>([
    ["admin", server.adminKey],
    ["root", ROOT_KEY],
    ["garbage", `${server.adminKey.slice(0, -1)}!`],
  ]);
  const bearer = (role: Role): string | null => {
    const key = keys.get(role);
    return key === undefined ? null : `Bearer ${key}`;
  };
  const call: World["call"] = (role, method, target, body) => {
    const authorization = bearer(role);
    const headers = {
      ...(authorization === null ? {} : { authorization }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
    return send(server.url, { method, target, headers, body: body === undefined ? null : bytes(JSON.stringify(body)) });
  };
  const ids = new Map<string, string[]>();
  const remember = (root: string, id: string): void => {
    ids.set(root, [id, ...(ids.get(root) ?? []).filter((known) => known !== id)].slice(0, MAX_IDS));
  };
  const make = async (method: string, target: string, body: unknown): Promise<Record<string, unknown>> => {
    const answer = await call("admin", method, target, body);
    if (answer.status >= 300) throw new Error(`${method} ${target}: ${answer.status} ${answer.text}`);
    learn(target, answer);
    return parsed(answer);
  };
  const learn = (target: string, { status, text }: WireAnswer): void => {
    if (status < 200 || status > 299 || !text.startsWith("{")) return;
    const { id, name, instance, jobs } = JSON.parse(text) as Record<string, unknown>;
    const root = rootOf(target.split("?")[0] ?? target);
    if (root === "/api/schedules" && typeof name === "string") remember(root, name);
    else if (typeof id === "string" && id.length < 100) remember(root === "/dispatch" ? "/api/jobs" : root, id);
    if (typeof instance === "string") remember("/api/workers", instance);
    if (Array.isArray(jobs)) for (const job of jobs as { id: string }[]) remember("/api/jobs", job.id);
  };
  let round = 0;
  const restore = async (): Promise<void> => {
    round += 1;
    await make("DELETE", "/killswitch?resume_all=true", undefined);
    await make("PUT", "/config", {});
    // A budget of the previous config may have engaged it again.
    await make("DELETE", "/killswitch?resume_all=true", undefined);
    await populate(make, remember, round);
  };
  const close = async (): Promise<void> => {
    await server.kill();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    for (const role of ["standard", "worker", "revoked"] as const) {
      const name = role === "revoked" ? "standard" : role;
      const { id, key } = parsed<{ id: string; key: string }>(
        await call("admin", "POST", "/api/keys", { name: role, role: name }),
      );
      keys.set(role, key);
      if (role === "revoked") await call("admin", "DELETE", `/api/keys/${id}`);
    }
    const document = parsed<OpenApi>(await call("none", "GET", "/openapi.json"));
    await restore();
    return { server, document, bearer, call, idsOf: (at) => ids.get(rootOf(at)) ?? [], learn, restore, close };
  } catch (error) {
    await close();
    throw error;
  }
};

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

type Make = (method: string, target: string, body: unknown) => Promise<Record<string, unknown>>;

/** A worker, a job in every state, a schedule, a subscription and a key to spoil. */
const populate = async (make: Make, remember: (root: string, id: string) => void, round: number): Promise<void> => {
  const instance = `fuzz-${round}`;
  const tags = `fuzz-${round}`;
  await make("POST", "/presence", { instance, provider: "fuzz", status: "online", tags, concurrency: 1000 });
  remember("/api/workers", instance);
  // One after the other, because the newest job is used first; what else there is does not ask for an order.
  const dispatched = (): Promise<Record<string, unknown>> =>
    make("POST", "/dispatch", { prompt: "a job", provider: "fuzz", tags: [tags] });
  const leased = [await dispatched(), await dispatched(), await dispatched(), await dispatched(), await dispatched()];
  const [, running, completed, failed, cancelled] = leased.map(({ id, lease }) => ({ id: String(id), lease }));
  if (!running || !completed || !failed || !cancelled) throw new Error("a dispatch answered without its job");
  const error = { code: "broken", message: "it broke", retryable: false };
  const models_sync_url = `https://models.example.com/${round}`;
  await Promise.all([
    make("POST", `/api/jobs/${running.id}/start`, { lease: running.lease }),
    make("POST", `/api/jobs/${completed.id}/complete`, { lease: completed.lease, result: "done" }),
    make("POST", `/api/jobs/${failed.id}/fail`, { lease: failed.lease, error }),
    make("POST", `/api/jobs/${cancelled.id}/cancel`, undefined),
    make("POST", "/api/jobs", { prompt: "waits", tags: ["nobody-offers-this"] }),
    make("POST", "/api/schedules", { name: `fuzz-${round}`, cron: "30 4 1 1 *", prompt: "on time" }),
    make("POST", "/api/keys", { name: "to spoil", role: "worker" }),
    make("POST", "/catalog/subscriptions", { provider: "openai", models_sync_url }),
  ]);
};
