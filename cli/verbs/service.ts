// The command itself: worker, login, doctor, version.

import { createClient } from "../../contract/client.ts";
import { VERSION } from "../../contract/version.ts";
import { type Check, examine, packageAt } from "../doctor.ts";
import { Failure } from "../failure.ts";
import { keepLogin, loginOf } from "../login.ts";
import type { Output } from "../output.ts";
import { readKey } from "../read-key.ts";
import type { Verb } from "../verb.ts";
import { REQUIREMENTS } from "./jobs.ts";

const SIGN: Record<Check["verdict"], string> = { good: "ok", warning: "look", bad: "WRONG" };

/** An old package still works; a coordinator that is away is the worker's own business. */
const sayIfOutdated = async (url: string, output: Output, signal: AbortSignal): Promise<void> => {
  const client = createClient({ url, retries: 0, timeoutMs: 3_000 });
  const version = await client.service.health({ signal }).then(
    (health) => health.version,
    () => VERSION,
  );
  if (version === VERSION) return;
  output.say(
    `This is version ${VERSION}, the coordinator is ${version}: npx ${packageAt(url, version)} worker fits it.`,
  );
};

export const serviceCommands: readonly Verb[] = [
  {
    name: "worker",
    says: "Runs jobs here until it is stopped; --help tells its flags",
    passesOn: true,
    run: async ({ env, output, signal }, { rest }) => {
      // Loaded when it is needed: it is most of the package.
      const { runWorker } = await import("../../worker/run-worker.ts");
      const { url, key } = loginOf(env);
      await sayIfOutdated(url, output, signal);
      // What runs jobs gets the address and key that every other command has.
      return runWorker(rest, { ...env, SERVICE_API_URL: url, ...(key === undefined ? {} : { SERVICE_API_KEY: key }) });
    },
  },
  {
    name: "login",
    says: "Keeps an address and a key for every other command, readable by you alone",
    args: [{ name: "url", says: "the coordinator's address", isOptional: true }],
    run: async ({ env, output, signal }, input) => {
      const url = (input.optionalArg("url") ?? loginOf({ ...env, SERVICE_API_KEY: "-" }).url).replace(/\/+$/, "");
      if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
        throw new Failure(`"${url}" is no address: give one that starts with http:// or https://`);
      }
      const key = env.SERVICE_API_KEY || (await readKey(output, signal));
      const { role, tenant, name } = await createClient({ url, key }).session.get({ signal });
      output.say(`Signed in to ${url} as "${name}" (${role}) of tenant ${tenant}.`);
      output.say(`Kept in ${keepLogin(env, { url, key })}.`);
    },
  },
  {
    name: "doctor",
    says: "What is wrong between here and a finished job",
    flags: {
      model: REQUIREMENTS.model ?? { takes: "name", says: "" },
      provider: REQUIREMENTS.provider ?? { takes: "name", says: "" },
      tag: REQUIREMENTS.tag ?? { takes: "tag", says: "" },
      run: { takes: null, says: "also runs a small job" },
    },
    run: async ({ client, env, output, signal }, input) => {
      const wanted = { ...input.given("model", "provider"), tags: [...input.texts("tag")] };
      const checks: Check[] = [];
      for await (const check of examine(client(), loginOf(env), wanted, input.is("run"), signal)) checks.push(check);
      const isWell = checks.every(({ verdict }) => verdict !== "bad");
      output.table({ ok: isWell, checks }, checks, [
        { title: "what", of: ({ what }) => what },
        { title: "", of: ({ verdict }) => SIGN[verdict] },
        { title: "found", of: ({ says }) => says },
      ]);
      return isWell ? 0 : 1;
    },
  },
  {
    name: "version",
    says: "The version of this command",
    run: async ({ output }) => output.value({ version: VERSION }, VERSION),
  },
];
