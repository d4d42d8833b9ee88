// Commands about this program: worker, login, doctor, version.

import { createClient } from "../../contract/client.ts";
import { VERSION } from "../../contract/version.ts";
import { type Check, examine, packageAt } from "../doctor.ts";
import { checkedAddress, keepLogin, loginOf } from "../login.ts";
import type { Output } from "../output.ts";
import { readKey } from "../read-key.ts";
import type { Verb } from "../verb.ts";
import { REQUIREMENTS } from "./requirements.ts";

const SIGN: Record<Check["verdict"], string> = { good: "ok", warning: "look", bad: "WRONG" };

/** An old package still works, so this only warns; if the coordinator is down, the worker handles that. */
const sayIfOutdated = async (url: string, output: Output, signal: AbortSignal): Promise<void> => {
  const client = createClient({ url, retries: 0, timeoutMs: 3_000 });
  const version = await client.service.health({ signal }).then(
    (health) => health.version,
    () => VERSION,
  );
  if (version === VERSION) return;
  output.say(
    `This is version ${VERSION}, the coordinator is ${version}: npx ${packageAt(url, version)} worker has the same version.`,
  );
};

export const serviceCommands: readonly Verb[] = [
  {
    name: "worker",
    says: "Runs a worker until it is stopped; --help lists its flags",
    passesOn: true,
    run: async ({ env, output, signal }, { rest }) => {
      // Loaded only when needed, because it is most of the package.
      const { runWorker } = await import("../../worker/run-worker.ts");
      const { url, key } = loginOf(env);
      // One job alone needs no coordinator.
      if (!rest.some((word) => /^--(once|help)\b/.test(word))) await sayIfOutdated(url, output, signal);
      // The worker uses the same address and key as every other command.
      const settings = { ...env, SERVICE_API_URL: url, ...(key === undefined ? {} : { SERVICE_API_KEY: key }) };
      return runWorker(rest, settings, "signalbox worker");
    },
  },
  {
    name: "login",
    says: "Saves an address and a key for all commands, readable by you alone",
    args: [{ name: "url", says: "the coordinator's address", isOptional: true }],
    run: async ({ env, output, signal }, input) => {
      const url = checkedAddress(input.optionalArg("url") ?? loginOf({ ...env, SERVICE_API_KEY: "-" }).url);
      const key = env.SERVICE_API_KEY || (await readKey(output, signal));
      const { role, tenant, name } = await createClient({ url, key }).session.get({ signal });
      output.say(`Signed in to ${url} as "${name}" (${role}) of tenant ${tenant}.`);
      output.say(`Saved in ${keepLogin(env, { url, key })}.`);
    },
  },
  {
    name: "doctor",
    says: "Checks everything a job needs, from the address to the model",
    flags: {
      model: REQUIREMENTS.model,
      provider: REQUIREMENTS.provider,
      tag: REQUIREMENTS.tag,
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
    says: "Prints the version of this program",
    run: async ({ output }) => output.value({ version: VERSION }, VERSION),
  },
];
