// Opens the dashboard.

import { entryOf } from "../../contract/words/values.ts";
import { hasScreen, openBrowser } from "../browser.ts";
import { UsageError } from "../failure.ts";
import { loginOf } from "../login.ts";
import type { Verb } from "../verb.ts";

/** What can be opened: the page's address, and `named`, what a name follows; without it the page takes no name. */
const PAGES: Readonly<Record<string, { readonly at: string; readonly named?: string }>> = {
  overview: { at: "" },
  jobs: { at: "jobs", named: "jobs" },
  workers: { at: "fleet", named: "fleet" },
  schedules: { at: "schedules", named: "schedules" },
  explain: { at: "explain" },
  batches: { at: "batches", named: "batches" },
  models: { at: "models" },
  playground: { at: "playground" },
  cost: { at: "cost" },
  catalog: { at: "catalog" },
  config: { at: "settings" },
  keys: { at: "settings/keys" },
  webhooks: { at: "settings/webhooks" },
  "sign-in": { at: "settings/sign-in" },
  people: { at: "settings/people" },
  audit: { at: "settings/audit" },
};

const JOB_ID = /^[0-9a-f]+(-[0-9a-f]+){4}$/;

const addressOf = (page: string, name: string | undefined): string => {
  if (name === undefined && JOB_ID.test(page)) return addressOf("jobs", page);
  const found = entryOf(PAGES, page);
  if (found === undefined)
    throw new UsageError(`there is no page "${page}": give one of ${Object.keys(PAGES).join(", ")}`);
  if (name === undefined) return `#/${found.at}`;
  if (found.named === undefined) throw new UsageError(`the page ${page} takes no name`);
  return `#/${found.named}/${encodeURIComponent(name)}`;
};

export const openCommand: Verb = {
  name: "open",
  says: "Opens the dashboard in the browser; prints its address where there is none",
  examples: ["open", "open 01a206b7-c86f-7000-9aa5-e0a348136c66", "open workers gpu-1 --print"],
  args: [
    { name: "page", says: `a job's id, or one of ${Object.keys(PAGES).join(", ")} (overview)`, isOptional: true },
    { name: "name", says: "a job's or batch's id, a worker or a schedule", isOptional: true },
  ],
  flags: {
    print: { takes: null, says: "only prints the address" },
    "no-browser": { takes: null, says: "the same" },
  },
  run: async ({ env, output }, input) => {
    const address = `${loginOf(env).url}/${addressOf(input.optionalArg("page") ?? "overview", input.optionalArg("name"))}`;
    output.value({ address }, address);
    if (!output.isForPeople || input.is("print") || input.is("no-browser")) return;
    if (!hasScreen(env)) output.say("There is no screen here: open this address in a browser.");
    else if (!(await openBrowser(address))) output.say("No browser could be started: open this address in one.");
  },
};
