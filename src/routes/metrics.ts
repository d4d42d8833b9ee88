// Prometheus metrics: of a tenant, with one of its keys; of the whole deployment, with the root key.

import * as z from "zod";
import {
  deploymentMetrics,
  exposition,
  gauge,
  type Metric,
  type TenantMetrics,
} from "../../domain/insight/exposition.ts";
import { bindingOf, type DatabaseUse } from "../../domain/tenant/tenant-database.ts";
import { type Endpoint, endpoint } from "../endpoint/router.ts";
import type { Env } from "../env.ts";
import { databaseUses } from "../history/databases.ts";
import { busyTenants } from "../history/tenants.ts";
import { type AppContext, isFromOperator } from "../http/auth.ts";
import { ask } from "../tenant/ask.ts";
import { asks } from "../tenant/asks.ts";
import { askObject, type TenantName } from "../tenant/tenant-object.ts";

/** A monitor keeps each series with a tenant's name for ever. */
const MAX_NAMED_TENANTS = 100;
/** Each is a request to its object, and wakes it. */
const MAX_READ_TENANTS = 500;
const READ_AT_A_TIME = 20;
/** A monitor waits ten seconds. */
const READ_WITHIN_MS = 8_000;

const diskMetrics = ({ HOME: home }: Env): Metric[] => {
  const disk = home?.disk();
  if (disk === undefined) return [];
  return [
    gauge("signalbox_disk_free_bytes", "Free space on the disk that holds the data.", [[{}, disk.freeBytes]]),
    gauge("signalbox_disk_full", "Whether new jobs are refused because the disk is full.", [
      [{}, disk.state === "full" ? 1 : 0],
    ]),
  ];
};

const databaseMetrics = (uses: readonly DatabaseUse[]): Metric[] => {
  const eachOf = (value: (use: DatabaseUse) => number) =>
    uses.map((use) => [{ database: bindingOf(use.number) }, value(use)] as const);
  return [
    gauge(
      "signalbox_history_bytes",
      "Size of each history database.",
      eachOf(({ bytes }) => bytes),
    ),
    gauge(
      "signalbox_history_tenants",
      "Tenants whose history is in each database.",
      eachOf(({ tenants }) => tenants),
    ),
  ];
};

/** Null if it does not answer; the others are read all the same. */
const metricsOf = async (env: Env, name: TenantName): Promise<TenantMetrics | null> => {
  const told = await askObject(env, name, "tellMetrics").catch(() => null);
  return told?.ok === true ? { tenant: name.tenant, metrics: told.value } : null;
};

/** What is not read in time is left out, and counted. */
const readAll = async (env: Env, names: readonly TenantName[]): Promise<TenantMetrics[]> => {
  const left = names.values();
  const read: TenantMetrics[] = [];
  const untilAt = Date.now() + READ_WITHIN_MS;
  const readSome = async (): Promise<void> => {
    for (const name of left) {
      if (Date.now() >= untilAt) return;
      const metrics = await metricsOf(env, name);
      if (metrics !== null) read.push(metrics);
    }
  };
  const all = Promise.all(Array.from({ length: READ_AT_A_TIME }, readSome));
  const done = new AbortController();
  const late = scheduler.wait(READ_WITHIN_MS, { signal: done.signal }).catch(() => undefined);
  await Promise.race([all, late]);
  done.abort();
  return [...read];
};

const TEXT = "text/plain; version=0.0.4; charset=utf-8";
const respond = (c: AppContext, text: string): Response => c.body(text, 200, { "content-type": TEXT });

const PLACE = { method: "get", path: "/metrics", tag: "Service" } as const;
const SUMMARY = "Read Prometheus metrics";
const answers = {
  200: { description: "Metrics in exposition format 0.0.4.", schema: z.string(), media: ["text/plain"] },
};

const ofTenant = endpoint(
  {
    ...PLACE,
    ...asks("readMetrics"),
    summary: SUMMARY,
    description: `Of the tenant. With the operator's root key of all tenants, with the label \`tenant\`: the ${MAX_NAMED_TENANTS} busiest, the others together as \`other\`.`,
    answers,
  },
  async (c, { token }) => {
    const text = await ask(c, token, "readMetrics", null);
    const disk = diskMetrics(c.env);
    return respond(c, disk.length === 0 ? text : text + exposition(disk));
  },
);

const ofDeployment = endpoint({ ...PLACE, needs: "root", summary: SUMMARY, answers }, async (c) => {
  const [{ tenants, total }, uses] = await Promise.all([busyTenants(c.env, MAX_READ_TENANTS), databaseUses(c.env)]);
  const read = await readAll(c.env, tenants);
  const counts = [
    gauge("signalbox_tenants", "Tenants that are served here.", [[{}, total]]),
    gauge("signalbox_tenants_unread", "Tenants that the other metrics leave out.", [[{}, total - read.length]]),
    ...databaseMetrics(uses),
  ];
  return respond(c, exposition([...deploymentMetrics(read, MAX_NAMED_TENANTS), ...counts, ...diskMetrics(c.env)]));
});

export const metrics: Endpoint = {
  description: ofTenant.description,
  handle: async (c) => ((await isFromOperator(c)) ? ofDeployment : ofTenant).handle(c),
};
