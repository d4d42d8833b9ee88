// Commands about this program: worker, login, doctor, version.

import { createClient } from "../../contract/client.ts";
import { VERSION } from "../../contract/words/version.ts";
import { logInByBrowser, offersBrowserLogin } from "../browser-login.ts";
import { type Check, examine } from "../doctor.ts";
import { Failure } from "../failure.ts";
import { checkedAddress, keepLogin, loginOf } from "../login.ts";
import { readKey } from "../read-key.ts";
import type { Verb } from "../verb.ts";
import { showFindings } from "../verdict.ts";
import { REQUIREMENTS } from "./requirements.ts";
import { waitLive } from "./wait-aloud.ts";

/** The key on stdin; without one the browser's, where people sign in to the service; else a key is asked for. */
const keyFor = async (login: Parameters<typeof logInByBrowser>[0]): Promise<string> => {
  const { url, tenant, opensBrowser, output, signal } = login;
  const isBrowserAsked = tenant !== undefined || !opensBrowser;
  const isPiped = process.stdin.isTTY !== true && !isBrowserAsked;
  const piped = isPiped ? await readKey(output, signal) : null;
  if (piped !== null) return piped;
  if (await offersBrowserLogin(url, tenant, signal)) return (await logInByBrowser(login)).key;
  if (isBrowserAsked) throw new Failure(`${url} offers no sign-in by the browser there: give it a key`);
  const typed = isPiped ? null : await readKey(output, signal);
  if (typed === null) throw new Failure("no key was given: pipe it in, or set SERVICE_API_KEY");
  return typed;
};

export const serviceCommands: readonly Verb[] = [
  {
    name: "worker",
    says: "Runs a worker until it is stopped; --help lists its flags",
    examples: ["worker --runtime ollama", "worker --runtime vllm --instance gpu-1 --tags gpu,eu --concurrency 4"],
    passesOn: true,
    run: async ({ env }, { rest }) => {
      // Loaded only when needed, because it is most of the package.
      const { runWorker } = await import("../../worker/run-worker.ts");
      const { url, key } = loginOf(env);
      // The worker uses the same address and key as every other command.
      const settings = { ...env, SERVICE_API_URL: url, ...(key === undefined ? {} : { SERVICE_API_KEY: key }) };
      return runWorker(rest, settings, "signalbox worker");
    },
  },
  {
    name: "login",
    says: "Saves an address and a key for all commands, readable by you alone; signs in by the browser",
    examples: [
      "login http://127.0.0.1:8787 < .data/default.admin.key",
      "login https://signalbox.example",
      "login https://signalbox.example --tenant acme --no-browser",
    ],
    args: [{ name: "url", says: "the coordinator's address", isOptional: true }],
    flags: {
      tenant: { takes: "name", says: "the tenant to sign in to" },
      "no-browser": { takes: null, says: "prints the address to open instead of opening it" },
    },
    run: async ({ env, output, signal }, input) => {
      const url = checkedAddress(input.optionalArg("url") ?? loginOf({ ...env, SERVICE_API_KEY: "-" }).url);
      const way = { tenant: input.given("tenant").tenant, opensBrowser: !input.is("no-browser") };
      const key = env.SERVICE_API_KEY || (await keyFor({ url, ...way, output, signal }));
      const { role, tenant, name } = await createClient({ url, key }).session.get({ signal });
      output.say(`Signed in to ${url} as "${name}" (${role}) of tenant ${tenant}.`);
      output.say(`Saved in ${keepLogin(env, { url, key })}.`);
    },
  },
  {
    name: "doctor",
    says: "Checks everything a job needs, from the address to the model",
    examples: ["doctor", "doctor --model llama3.2 --tag gpu --run"],
    flags: {
      model: REQUIREMENTS.model,
      provider: REQUIREMENTS.provider,
      tag: REQUIREMENTS.tag,
      run: { takes: null, says: "also runs a small job" },
    },
    run: async (context, input) => {
      const { client, env, output, signal } = context;
      const follow = (id: string, inTime: AbortSignal) => {
        output.say(`Waits for job ${id}, a minute at most.`);
        return waitLive({ ...context, signal: inTime }, id);
      };
      const runsJob = input.is("run") ? follow : null;
      const wanted = { ...input.given("model", "provider"), tags: [...input.texts("tag")] };
      const checks: Check[] = [];
      for await (const check of examine(client(), loginOf(env), wanted, runsJob, signal)) checks.push(check);
      return showFindings(output, checks);
    },
  },
  {
    name: "version",
    says: "Prints the version of this program",
    examples: ["version"],
    run: async ({ output }) => output.value({ version: VERSION }, VERSION),
  },
];
