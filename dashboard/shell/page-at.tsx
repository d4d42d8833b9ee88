// The page of each address, in one table. Pages that a role may not see count as unknown.

import type { VNode } from "preact";
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
import { isAdmin, isPerson, mayOperate } from "../state/session.ts";
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
const PAGES: Record<string, Show> = {
  "": () => <Overview />,
  jobs: () => <Jobs />,
  "jobs/*": JobPage,
  batches: Batches,
  "batches/*": BatchPage,
  fleet: () => <Fleet />,
  "fleet/*": WorkerPage,
  models: Models,
  explain: () => <Explain />,
  schedules: () => <Schedules />,
  "schedules/*": (name) => <SchedulePage name={name} />,
  cost: () => <Cost />,
  "grant-key": GrantKey,
  settings: () => <SettingsConfig />,
};

/** A viewer would find only refusals there. */
const OPERATOR_PAGES: Record<string, Show> = {
  "jobs/new": () => <NewJob />,
  playground: Playground,
  "schedules/~new": () => <ScheduleForm name={null} />,
  "schedules/*/edit": (name) => <ScheduleForm name={name} />,
};

/** A person has keys of the own, whatever the role. */
const PEOPLE_PAGES: Record<string, Show> = {
  "settings/keys": () => <SettingsKeys />,
};

const ADMIN_PAGES: Record<string, Show> = {
  "fleet/~add": AddWorker,
  "settings/webhooks": Webhooks,
  catalog: () => <Catalog />,
  "catalog/*": (id) => <SubscriptionPage id={id} />,
  "settings/keys": () => <SettingsKeys />,
  "settings/sign-in": SignInSettings,
  "settings/people": People,
  "settings/audit": () => <SettingsAudit />,
};

const find = (pages: Record<string, Show>, segments: readonly string[]): Show | undefined => {
  const exact = segments.join("/");
  const pattern = segments.map((segment, index) => (index === 1 ? "*" : segment)).join("/");
  return Object.hasOwn(pages, exact) ? pages[exact] : Object.hasOwn(pages, pattern) ? pages[pattern] : undefined;
};

/** Addresses of other roles' pages, so that they are not taken for a name. */
const isOfAnotherRole = (segments: readonly string[]): boolean => {
  const exact = segments.join("/");
  return Object.hasOwn(OPERATOR_PAGES, exact) || Object.hasOwn(ADMIN_PAGES, exact);
};

export const pageAt = (segments: readonly string[]): VNode => {
  const own = {
    ...PAGES,
    ...(mayOperate.value ? OPERATOR_PAGES : {}),
    ...(isPerson.value ? PEOPLE_PAGES : {}),
    ...(isAdmin.value ? ADMIN_PAGES : {}),
  };
  const show = isOfAnotherRole(segments) ? own[segments.join("/")] : find(own, segments);
  return show === undefined ? <NotFound /> : show(segments[1] ?? "");
};
