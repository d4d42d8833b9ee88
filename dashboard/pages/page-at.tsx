// The page of each address, in one table. Pages that a role may not see count as unknown.

import type { VNode } from "preact";
import { lazyPage } from "../parts/lazy.tsx";
import { Catalog } from "./catalog.tsx";
import { Cost } from "./cost.tsx";
import { Explain } from "./explain.tsx";
import { Fleet } from "./fleet.tsx";
import { JobPage } from "./job.tsx";
import { Jobs } from "./jobs.tsx";
import { NewJob } from "./new-job.tsx";
import { NotFound } from "./not-found.tsx";
import { Overview } from "./overview.tsx";
import { SchedulePage } from "./schedule.tsx";
import { ScheduleForm } from "./schedule-form.tsx";
import { Schedules } from "./schedules.tsx";
import { SettingsAudit } from "./settings-audit.tsx";
import { SettingsConfig } from "./settings-config.tsx";
import { SettingsKeys } from "./settings-keys.tsx";
import { SubscriptionPage } from "./subscription.tsx";
import { WorkerPage } from "./worker.tsx";

const Playground = lazyPage("Playground", async () => (await import("./playground.tsx")).Playground);
const AddWorker = lazyPage("Add a worker", async () => (await import("./add-worker.tsx")).AddWorker);
const Webhooks = lazyPage("Webhooks", async () => (await import("./settings-webhooks.tsx")).SettingsWebhooks);

type Show = (id: string) => VNode;

/** `*` stands for a name in the address. */
const PAGES: Record<string, Show> = {
  "": () => <Overview />,
  jobs: () => <Jobs />,
  "jobs/new": () => <NewJob />,
  "jobs/*": (id) => <JobPage id={id} />,
  fleet: () => <Fleet />,
  "fleet/*": (instance) => <WorkerPage instance={instance} />,
  playground: Playground,
  explain: () => <Explain />,
  schedules: () => <Schedules />,
  "schedules/~new": () => <ScheduleForm name={null} />,
  "schedules/*": (name) => <SchedulePage name={name} />,
  "schedules/*/edit": (name) => <ScheduleForm name={name} />,
  cost: () => <Cost />,
  settings: () => <SettingsConfig />,
};

const ADMIN_PAGES: Record<string, Show> = {
  "fleet/~add": AddWorker,
  "settings/webhooks": Webhooks,
  catalog: () => <Catalog />,
  "catalog/*": (id) => <SubscriptionPage id={id} />,
  "settings/keys": () => <SettingsKeys />,
  "settings/audit": () => <SettingsAudit />,
};

const find = (pages: Record<string, Show>, segments: readonly string[]): Show | undefined => {
  const exact = segments.join("/");
  const pattern = segments.map((segment, index) => (index === 1 ? "*" : segment)).join("/");
  return Object.hasOwn(pages, exact) ? pages[exact] : Object.hasOwn(pages, pattern) ? pages[pattern] : undefined;
};

export const pageAt = (segments: readonly string[], isAdmin: boolean): VNode => {
  const show = find(isAdmin ? { ...PAGES, ...ADMIN_PAGES } : PAGES, segments);
  return show === undefined ? <NotFound /> : show(segments[1] ?? "");
};
