// `signalbox move`: a tenant goes from one deployment to another.

import { LOCAL_URL } from "../../contract/words/values.ts";
import { Signalbox } from "../../sdk/signalbox.ts";
import { UsageError } from "../failure.ts";
import { checkedAddress } from "../login.ts";
import { moveTenant } from "../move-tenant.ts";
import type { Verb } from "../verb.ts";

const rootKeyOf = (env: Readonly<Record<string, string | undefined>>, name: string): string => {
  const key = env[name];
  if (key) return key;
  throw new UsageError(`set ${name}: a move needs the root keys of both deployments`);
};

export const moveCommands: readonly Verb[] = [
  {
    name: "move",
    says: "Moves a tenant to another deployment; needs SERVICE_ROOT_KEY and SERVICE_TARGET_ROOT_KEY",
    examples: ["move acme --to https://new.example", "move acme --give-up"],
    args: [{ name: "tenant", says: "the tenant's name" }],
    flags: {
      to: { takes: "url", says: "address of the new deployment" },
      "give-up": { takes: null, says: "cancels a move that was not completed: the tenant is served here again" },
    },
    run: async ({ env, output, signal }, input) => {
      const tenant = input.arg("tenant");
      const source = new Signalbox({
        url: checkedAddress(env.SERVICE_API_URL || LOCAL_URL, "SERVICE_API_URL "),
        key: rootKeyOf(env, "SERVICE_ROOT_KEY"),
      }).tenants;
      const options = { signal };
      if (input.is("give-up")) {
        await source.stay(tenant, options);
        output.say(`Tenant "${tenant}" is served here again.`);
        return;
      }
      const given = input.text("to");
      if (given === undefined) throw new UsageError("--to is missing: give the address of the new deployment");
      const to = checkedAddress(given, "--to ");
      const target = new Signalbox({ url: to, key: rootKeyOf(env, "SERVICE_TARGET_ROOT_KEY") }).tenants;
      output.say(`Tenant "${tenant}" is stopped here: its requests get 503 until everything is at ${to}.`);
      const onProgress = (words: string) => output.live(words);
      const moved = await moveTenant({ tenant, source, target, options, onProgress }, to).finally(() =>
        output.endLive(),
      );
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
