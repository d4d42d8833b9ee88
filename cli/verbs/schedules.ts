// Schedules.

import type { NewScheduleRequest, ScheduleResource } from "../../contract/schedule.ts";
import { PRIORITIES, TIERS } from "../../contract/words/values.ts";
import type { Column } from "../terminal/cells.ts";
import { when } from "../terminal/when.ts";
import type { Context, Verb } from "../verb.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";
import { REQUIREMENTS } from "./requirements.ts";

const NAME = { name: "name", says: "the schedule's name" } as const;

const timing = ({ cron, interval }: ScheduleResource): string => cron ?? `every ${interval}`;

const COLUMNS: readonly Column<ScheduleResource>[] = [
  { title: "name", of: ({ name }) => name },
  { title: "status", of: ({ status }) => status },
  { title: "runs", of: timing },
  { title: "next", of: ({ next_run_at }) => when(next_run_at) },
  { title: "last", of: ({ last_run_at }) => when(last_run_at) },
  { title: "prompt", of: ({ prompt, warning }) => warning ?? prompt },
];

const show = ({ output }: Context, schedule: ScheduleResource): void =>
  output.record(schedule, [
    ["name", schedule.name],
    ["status", schedule.status],
    ["runs", timing(schedule)],
    ["time zone", schedule.timezone],
    ["next", when(schedule.next_run_at)],
    ["last", when(schedule.last_run_at)],
    ["prompt", schedule.prompt],
    ["warning", schedule.warning],
  ]);

/** A command that turns a schedule on or off. */
const turn = (verb: "pause" | "resume", status: "paused" | "active", says: string): Verb => ({
  name: `schedules ${verb}`,
  says,
  examples: [`schedules ${verb} digest`],
  args: [NAME],
  run: async (context, input) =>
    show(context, await context.client().schedules.edit(input.arg("name"), { status }, { signal: context.signal })),
});

export const scheduleCommands: readonly Verb[] = [
  {
    name: "schedules list",
    says: "Lists all schedules",
    examples: ["schedules list"],
    run: async ({ client, output, signal }) => {
      const schedules: ScheduleResource[] = [];
      const pages = client().schedules.list({ limit: 200 }, { signal });
      for await (const schedule of pages) schedules.push(schedule);
      output.table({ schedules, total: (await pages).total }, schedules, COLUMNS);
    },
  },
  {
    name: "schedules get",
    says: "Shows a schedule",
    examples: ["schedules get digest"],
    args: [NAME],
    run: async (context, input) =>
      show(context, await context.client().schedules.get(input.arg("name"), { signal: context.signal })),
  },
  {
    name: "schedules create",
    says: "Creates a schedule",
    examples: [
      'schedules create digest "Summarise the day." --cron "0 18 * * 1-5" --timezone Europe/Berlin',
      'schedules create ping "Say hello." --interval 15m',
    ],
    args: [NAME, { name: "prompt", says: "the prompt of its jobs" }],
    flags: {
      cron: { takes: "fields", says: "five fields: minute, hour, day, month, weekday" },
      interval: { takes: "duration", says: "instead of cron: 30s, 15m, 2h, 1d" },
      timezone: { takes: "zone", says: "IANA time zone of the cron fields (UTC)" },
      ...REQUIREMENTS,
    },
    run: async (context, input) => {
      input.choice("priority", PRIORITIES);
      input.choice("tier", TIERS);
      const wanted = {
        name: input.arg("name"),
        prompt: input.arg("prompt"),
        ...input.given("cron", "interval", "timezone", "model", "provider", "priority", "tier"),
        ...(input.texts("tag").length === 0 ? {} : { tags: [...input.texts("tag")] }),
      } as NewScheduleRequest;
      show(context, await context.client().schedules.create(wanted, { signal: context.signal }));
    },
  },
  turn("pause", "paused", "Pauses a schedule"),
  turn("resume", "active", "Resumes a schedule"),
  {
    name: "schedules run",
    says: "Runs a schedule now",
    examples: ["schedules run digest"],
    args: [NAME],
    run: async ({ client, output, signal }, input) => {
      const run = await client().schedules.run(input.arg("name"), { signal });
      output.record(run, [
        ["outcome", run.outcome],
        ["job", run.job_id],
        ["reason", run.reason],
      ]);
    },
  },
  {
    name: "schedules history",
    says: "Lists the runs of a schedule, newest first",
    examples: ["schedules history digest --limit 10"],
    args: [NAME],
    flags: PAGE_FLAGS,
    run: async ({ client, output, signal }, input) => {
      const read = (limit: number | null) => client().schedules.history(input.arg("name"), { limit }, { signal });
      await showPages(output, input, "history", read, [
        { title: "due", of: ({ scheduled_for }) => when(scheduled_for) },
        { title: "outcome", of: ({ outcome }) => outcome },
        { title: "job", of: ({ job_id }) => job_id },
        { title: "status", of: ({ job_status }) => job_status },
        { title: "reason", of: ({ reason }) => reason },
      ]);
    },
  },
  {
    name: "schedules delete",
    says: "Deletes a schedule and its history; its jobs are kept",
    examples: ["schedules delete digest"],
    args: [NAME],
    run: async ({ client, output, signal }, input) => {
      await client().schedules.remove(input.arg("name"), { signal });
      output.say(`${input.arg("name")} is deleted.`);
    },
  },
];
