// The page of each address, in one table. Pages that the user may not open count as unknown.

import type { VNode } from "preact";
import { entryOf } from "../../contract/words/values.ts";
import { Catalog } from "../catalog/catalog.tsx";
import { SubscriptionPage } from "../catalog/subscription.tsx";
import { Cost } from "../cost/cost.tsx";
import { Fleet } from "../fleet/fleet.tsx";
import { Explain } from "../jobs/explain.tsx";
import { Jobs } from "../jobs/list/jobs.tsx";
import { NewJob } from "../jobs/new-job.tsx";
import { Overview } from "../overview/overview.tsx";
import { SchedulePage } from "../schedules/schedule.tsx";
import { ScheduleForm } from "../schedules/schedule-form.tsx";
import { Schedules } from "../schedules/schedules.tsx";
import { SettingsAudit } from "../settings/settings-audit.tsx";
import { SettingsConfig } from "../settings/settings-config.tsx";
import { SettingsKeys } from "../settings/settings-keys.tsx";
import { mayOpen } from "../state/may-open.ts";
import { lazyPage } from "./lazy.tsx";
import { NotFound } from "./not-found.tsx";

const JobPage = lazyPage("Job", async () => (await import("../jobs/story/job.tsx")).JobPage);
const Batches = lazyPage("Batches", async () => (await import("../batches/batches.tsx")).Batches);
const BatchPage = lazyPage("Batch", async () => (await import("../batches/batch.tsx")).BatchPage);
const Models = lazyPage("Models", async () => (await import("../models/models.tsx")).Models);
const WorkerPage = lazyPage("Worker", async () => (await import("../fleet/worker.tsx")).WorkerPage);
const Playground = lazyPage("Playground", async () => (await import("../playground/playground.tsx")).Playground);
const AddWorker = lazyPage("Add a worker", async () => (await import("../fleet/add-worker.tsx")).AddWorker);
const Webhooks = lazyPage("Webhooks", async () => (await import("../settings/settings-webhooks.tsx")).SettingsWebhooks);

const SignInSettings = lazyPage(
  "Sign-in",
  async () => (await import("../settings/settings-sign-in.tsx")).SettingsSignIn,
);
const People = lazyPage("People", async () => (await import("../settings/settings-people.tsx")).SettingsPeople);
const GrantKey = lazyPage("Sign in a program", async () => (await import("../shell/grant-key.tsx")).GrantKey);

type Show = (id: string) => VNode;

/** `*` stands for a name in the address. */
const PAGES: Readonly<Record<string, Show>> = {
  "": () => <Overview />,
  jobs: () => <Jobs />,
  "jobs/new": () => <NewJob />,
  "jobs/*": JobPage,
  batches: Batches,
  "batches/*": BatchPage,
  fleet: () => <Fleet />,
  "fleet/~add": AddWorker,
  "fleet/*": WorkerPage,
  models: Models,
  explain: () => <Explain />,
  playground: Playground,
  schedules: () => <Schedules />,
  "schedules/~new": () => <ScheduleForm name={null} />,
  "schedules/*": (name) => <SchedulePage name={name} />,
  "schedules/*/edit": (name) => <ScheduleForm name={name} />,
  catalog: () => <Catalog />,
  "catalog/*": (id) => <SubscriptionPage id={id} />,
  cost: () => <Cost />,
  "grant-key": GrantKey,
  settings: () => <SettingsConfig />,
  "settings/keys": () => <SettingsKeys />,
  "settings/sign-in": SignInSettings,
  "settings/people": People,
  "settings/webhooks": Webhooks,
  "settings/audit": () => <SettingsAudit />,
};

/** An address of the table is a page, also where the user may not open it, and never taken for a name. */
export const pageAt = (segments: readonly string[]): VNode => {
  const exact = segments.join("/");
  const pattern = segments.map((segment, index) => (index === 1 ? "*" : segment)).join("/");
  const page = Object.hasOwn(PAGES, exact) ? exact : pattern;
  const show = mayOpen(page) ? entryOf(PAGES, page) : undefined;
  return show === undefined ? <NotFound /> : show(segments[1] ?? "");
};
