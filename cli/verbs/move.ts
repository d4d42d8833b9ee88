// `signalbox move`: copies a tenant from one deployment to another, part by part.

import { LOCAL_URL } from "../../contract/values.ts";
import { Signalbox } from "../../sdk/signalbox.ts";
import { UsageError } from "../failure.ts";
import { checkedAddress } from "../login.ts";
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
    args: [{ name: "tenant", says: "the tenant's name" }],
    flags: {
      to: { takes: "url", says: "address of the new deployment" },
      "give-up": { takes: null, says: "cancels a move that was begun: the tenant is served here again" },
    },
    run: async ({ env, output, signal }, input) => {
      const tenant = input.arg("tenant");
      const source = new Signalbox({
        url: checkedAddress(env.SERVICE_API_URL || LOCAL_URL, "SERVICE_API_URL "),
        key: rootKeyOf(env, "SERVICE_ROOT_KEY"),
      }).tenants;
      if (input.is("give-up")) {
        await source.stay(tenant, { signal });
        output.say(`Tenant "${tenant}" is served here again.`);
        return;
      }
      const given = input.text("to");
      if (given === undefined) throw new UsageError("--to is missing: give the address of the new deployment");
      const to = checkedAddress(given, "--to ");
      const target = new Signalbox({ url: to, key: rootKeyOf(env, "SERVICE_TARGET_ROOT_KEY") }).tenants;
      const { tables, created_at, schema } = await source.leave(tenant, to, { signal });
      output.say(`Tenant "${tenant}" is stopped here; its requests get 410 with the address ${to}.`);
      await target.arrive(tenant, { created_at, schema }, { signal });
      const moved: { place: string; table: string; rows: number }[] = [];
      for (const { place, table } of tables) {
        let rows = 0;
        for (let from: number | null = 0; from !== null; ) {
          const part = await source.readRows(tenant, { place, table, from: String(from) }, { signal });
          await target.writeRows(tenant, part, { signal });
          rows += part.rows.length;
          from = part.next;
        }
        moved.push({ place, table, rows });
      }
      await target.arrived(tenant, { signal });
      output.table({ tenant, to, tables: moved }, moved, [
        { title: "place", of: (row) => row.place },
        { title: "table", of: (row) => row.table },
        { title: "rows", of: (row) => row.rows },
      ]);
      output.say(
        `Tenant "${tenant}" is served at ${to}. Its keys work there if that deployment has this one's signing`,
      );
      output.say("secret as SERVICE_SIGNING_SECRET or SERVICE_SIGNING_SECRET_ALSO.");
    },
  },
];
