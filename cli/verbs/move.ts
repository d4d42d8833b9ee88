// `signalbox move`: a tenant goes from one deployment to another.

import { ApiProblem } from "../../contract/client/problem.ts";
import type { HistoryMoveAnswer } from "../../contract/move.ts";
import { LOCAL_URL } from "../../contract/words/values.ts";
import { Signalbox } from "../../sdk/signalbox.ts";
import { Failure, UsageError } from "../failure.ts";
import { checkedAddress } from "../login.ts";
import { moveTenant } from "../move-tenant.ts";
import type { Context, Verb } from "../verb.ts";

type Tenants = Signalbox["tenants"];

const rootKeyOf = (env: Readonly<Record<string, string | undefined>>, name: string): string => {
  const key = env[name];
  if (key) return key;
  throw new UsageError(`set ${name}: a move needs the root key of each deployment that takes part`);
};

/** Before anything is stopped: the target's root key is right, and its release knows all of the tenant's rows. */
const requireReady = async (source: Signalbox, target: Signalbox, options: { signal: AbortSignal }): Promise<void> => {
  await target.tenants.list(options);
  const [here, there] = await Promise.all([source, target].map(({ service }) => service.health(options)));
  if (here?.version === there?.version) return;
  throw new Failure(
    `The version is ${here?.version} here and ${there?.version} there: both deployments must run the same release. Nothing was changed.`,
  );
};

const databaseOf = (text: string): number => {
  const [, digits] = /^(?:DB_)?(\d{1,2})$/.exec(text === "DB" ? "0" : text) ?? [];
  if (digits === undefined) throw new UsageError("--database takes a database's name or number: DB, DB_1 or 1");
  return Number(digits);
};

const CALM = "Requests are served on; what reads the history waits until it is there.";

const moveHistory = async ({ output, signal }: Context, source: Tenants, tenant: string, text: string) => {
  const database = databaseOf(text);
  let next: HistoryMoveAnswer["next"] | undefined;
  do {
    const isFirst = next === undefined;
    ({ next } = await source.moveHistory(tenant, { database, next }, { signal }));
    if (isFirst && next !== null) output.say(`The history of tenant "${tenant}" moves to ${text}. ${CALM}`);
    if (next !== null) output.live(`${next.phase === "copy" ? "Copies" : "Compares"} table ${next.table}`);
  } while (next !== null);
  output.endLive();
  output.say(`The history of tenant "${tenant}" is in ${text}.`);
};

export const moveCommands: readonly Verb[] = [
  {
    name: "move",
    says: "Moves a tenant to another deployment, or its history to another database; needs SERVICE_ROOT_KEY, and SERVICE_TARGET_ROOT_KEY of the other deployment",
    examples: ["move acme --to https://new.example", "move acme --give-up", "move acme --database DB_2"],
    args: [{ name: "tenant", says: "the tenant's name" }],
    flags: {
      to: { takes: "url", says: "address of the new deployment" },
      database: { takes: "name", says: "a D1 database of this deployment, as DB_2, which gets its history" },
      "give-up": { takes: null, says: "cancels a move that was not completed: the tenant is served here again" },
    },
    run: async (context, input) => {
      const { env, output, signal } = context;
      const tenant = input.arg("tenant");
      const here = new Signalbox({
        url: checkedAddress(env.SERVICE_API_URL || LOCAL_URL, "SERVICE_API_URL "),
        key: rootKeyOf(env, "SERVICE_ROOT_KEY"),
      });
      const source = here.tenants;
      const options = { signal };
      const database = input.text("database");
      if (database !== undefined && input.is("give-up")) {
        await source.cancelHistoryMove(tenant, options);
        output.say(`The history of tenant "${tenant}" stays where it was.`);
        return;
      }
      if (database !== undefined) return moveHistory(context, source, tenant, database);
      if (input.is("give-up")) {
        await source.stay(tenant, options);
        output.say(`Tenant "${tenant}" is served here again.`);
        return;
      }
      const given = input.text("to");
      if (given === undefined) throw new UsageError("--to is missing: give the address of the new deployment");
      const to = checkedAddress(given, "--to ");
      const there = new Signalbox({ url: to, key: rootKeyOf(env, "SERVICE_TARGET_ROOT_KEY") });
      await requireReady(here, there, options);
      const onStopped = () =>
        output.say(`Tenant "${tenant}" is stopped here: its requests get 503 until everything is at ${to}.`);
      const onProgress = (words: string) => output.live(words);
      const onRefused = (error: unknown) => {
        output.say(`Tenant "${tenant}" is stopped here: --give-up serves it again.`);
        if (error instanceof ApiProblem && error.code === "tenant_exists")
          output.say(`If it moved away from ${to} before, first delete what it left there, and repeat the move.`);
      };
      const ends = { tenant, source, target: there.tenants, options, onStopped, onRefused, onProgress };
      const moved = await moveTenant(ends, to).finally(() => output.endLive());
      output.table({ tenant, to, tables: moved }, moved, [
        { title: "place", of: (row) => row.place },
        { title: "table", of: (row) => row.table },
        { title: "rows", of: (row) => row.rows },
      ]);
      if (moved.length === 0) output.say("Everything was there already: an earlier try was interrupted at its end.");
      output.say(
        `Tenant "${tenant}" is served at ${to}; here its requests get 410 with that address. Its keys work there if that`,
      );
      output.say("deployment has this one's signing secret as SERVICE_SIGNING_SECRET or SERVICE_SIGNING_SECRET_ALSO.");
    },
  },
];
