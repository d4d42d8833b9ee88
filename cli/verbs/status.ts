// `status` and `top`: is it well, once and live.

import { setTimeout as pause } from "node:timers/promises";
import { ApiProblem } from "../../contract/client/problem.ts";
import { UsageError } from "../failure.ts";
import { loginOf } from "../login.ts";
import { statusOf } from "../status.ts";
import { figuresOf, type Lists, type Look, lookOf, type Size, screenOf } from "../top.ts";
import type { Context, Verb } from "../verb.ts";
import { showFindings } from "../verdict.ts";

const status: Verb = {
  name: "status",
  says: "Shows whether it is well: killswitch, workers, queue, waits, errors, cost against budget",
  examples: ["status", "status --json", "status > /dev/null || echo look"],
  run: async ({ client, env, output, signal }) => {
    const { url } = loginOf(env);
    const { tenant } = await client().session.get({ signal });
    if (output.isForPeople) output.say(`Tenant ${tenant} at ${url}`);
    return showFindings(output, await statusOf(client(), { signal }), { url, tenant });
  },
};

const EVERY_SECONDS = 2;
const LEAST_SECONDS = 1;
/** A timer of 25 days and more ends at once. */
const MOST_SECONDS = 86_400;
/** A terminal that passes each key on passes Ctrl-C on, too. */
const QUITS: ReadonlySet<string> = new Set(["q", "Q", "\u0003"]);
/** More than a screen has lines. */
const LISTED = 100;

const readLook = async ({ client, signal }: Context): Promise<Look> =>
  lookOf(await client().service.metrics({ signal }), Date.now());

const readLists = async ({ client, signal }: Context): Promise<Lists> => {
  const { jobs, workers } = client();
  const [running, fleet, queue] = await Promise.all([
    jobs.list({ status: "running", limit: LISTED }, { signal }),
    workers.list({ sort: "load", limit: LISTED }, { signal }),
    jobs.queue({ signal }),
  ]);
  return { jobs: running.jobs, workers: fleet.workers, queue };
};

const lineOf = (figures: ReturnType<typeof figuresOf>): string =>
  Object.values(figures)
    .map((figure) => figure ?? "")
    .join("\t");

const ONE_PICTURE = 3 * LISTED;

type Shows = "screen" | "picture" | "figures";

const show = async (context: Context, shows: Shows, title: string, before: Look | null): Promise<Look> => {
  const { output } = context;
  const now = await readLook(context);
  const draw = async (size: Size) => screenOf(title, now, before, await readLists(context), size);
  const figures = figuresOf(now, before);
  if (shows === "screen") output.screen(await draw(output.size));
  else if (shows === "figures") output.line(figures, lineOf(figures));
  else for (const { text } of await draw({ ...output.size, rows: ONE_PICTURE })) output.line(figures, text);
  return now;
};

/** Looks on while the coordinator is away; a key that is refused stays refused. */
const isPassing = (error: unknown): error is ApiProblem =>
  error instanceof ApiProblem && error.status !== 401 && error.status !== 403;

interface Watch {
  readonly title: string;
  readonly shows: Shows;
  readonly everyMs: number;
  readonly looks: number;
}

const watch = async (context: Context, { title, shows, everyMs, looks }: Watch): Promise<void> => {
  const { output, signal } = context;
  let before: Look | null = null;
  for (let look = 1; ; look += 1) {
    try {
      before = await show(context, shows, title, before);
    } catch (error) {
      signal.throwIfAborted();
      if (!isPassing(error)) throw error;
      if (output.isForPeople) output.screen([{ text: title }, { text: error.message }]);
      else output.say(error.message);
    }
    if (look >= looks) return;
    await pause(everyMs, undefined, { signal });
  }
};

const top: Verb = {
  name: "top",
  says: "Shows jobs, workers and what waits, live (q ends it); in a pipe once, or a line of figures each time",
  examples: ["top", "top --every 10 --count 6", "top --json | jq .waiting"],
  flags: {
    every: {
      takes: "seconds",
      says: `how often to look (${EVERY_SECONDS}); in a pipe a line of figures each time, in the order of --json`,
    },
    count: { takes: "n", says: "ends after so many looks" },
  },
  run: async (context, input) => {
    const { client, env, output } = context;
    const [asked, count] = [input.number("every"), input.number("count")];
    const every = asked ?? EVERY_SECONDS;
    if (every < LEAST_SECONDS || every > MOST_SECONDS)
      throw new UsageError(`--every takes ${LEAST_SECONDS} to ${MOST_SECONDS} seconds, not ${every}`);
    if (count !== undefined && (!Number.isInteger(count) || count < 1))
      throw new UsageError(`--count takes a whole number from 1, not ${count}`);
    const isOnce = !output.isForPeople && asked === undefined && count === undefined;
    const quit = new AbortController();
    const signal = AbortSignal.any([context.signal, quit.signal]);
    const stop = output.isForPeople ? context.keys?.((key) => QUITS.has(key) && quit.abort()) : undefined;
    try {
      const { tenant } = await client().session.get({ signal });
      const at = `Tenant ${tenant} at ${loginOf(env).url}`;
      await watch(
        { ...context, signal },
        {
          title: isOnce ? at : `${at}, every ${every} s; q ends`,
          shows: output.isForPeople ? "screen" : isOnce && !output.isJson ? "picture" : "figures",
          everyMs: every * 1000,
          looks: count ?? (isOnce ? 1 : Number.POSITIVE_INFINITY),
        },
      );
    } catch (error) {
      // A key or the signal is how it usually ends.
      if (!signal.aborted) throw error;
    } finally {
      stop?.();
      output.endScreen();
    }
  },
};

export const statusCommands: readonly Verb[] = [status, top];
