// `signalbox wake`: a small process beside sleeping machines. It holds a socket with a viewer's key, and wakes a machine
// or runs a command when work waits for it. A command gets the event in its environment, and no key.

import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { NumberedLiveMessage } from "../../contract/live.ts";
import { backoffMs } from "../../worker/session/backoff.ts";
import { Failure, UsageError } from "../failure.ts";
import { loginOf } from "../login.ts";
import { broadcastOf, macOf, sendMagicPacket } from "../magic-packet.ts";
import type { Context, Verb } from "../verb.ts";
import { type CapacityEvent, environmentOf, Watch } from "../wake.ts";

const LOOK_EVERY_MS = 1_000;
const PING_EVERY_MS = 20_000;
const MAX_FRAME_BYTES = 64 * 1024 * 1024;
/** Until the config was read: its defaults. */
const USUAL = { afterMs: 10_000, idleMs: 900_000 } as const;
/** The socket's answer to a key that may not watch. */
const REFUSED = /Unexpected server response: (401|403)/;

/** null: as the config says. */
interface Times {
  readonly afterMs: number | null;
  readonly idleMs: number | null;
}

/** Runs one command at a time: while it runs, the next would do the same. */
class Commands {
  readonly #context: Context;
  readonly #running = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  run(command: string, event: CapacityEvent): void {
    const { env, output } = this.#context;
    if (this.#running.has(command)) {
      output.say(`${command} still runs`);
      return;
    }
    this.#running.add(command);
    const child = spawn(command, { shell: true, stdio: "inherit", env: environmentOf(event, env) });
    child.once("error", ({ message }) => this.#end(command, message));
    child.once("exit", (code) => this.#end(command, code === 0 ? null : `exit code ${code}`));
  }

  #end(command: string, trouble: string | null): void {
    this.#running.delete(command);
    if (trouble !== null) this.#context.output.say(`${command}: ${trouble}`);
  }
}

/** How long jobs and workers wait: the flags, else the config's times for the same webhooks, as far as it can be read. */
const follow = async ({ client, signal }: Context, watch: Watch, given: Times): Promise<void> => {
  if (given.afterMs !== null && given.idleMs !== null) return;
  const { capacity } = (await client().config.get({ signal })).document;
  watch.wait({
    afterMs: given.afterMs ?? capacity.after_seconds * 1000,
    idleMs: given.idleMs ?? capacity.idle_seconds * 1000,
  });
};

/** Watches over one socket until it ends. */
const watchOnce = async (context: Context, watch: Watch, given: Times): Promise<void> => {
  // Loaded when it is needed: other commands start without it.
  const { openSocket } = await import("../../worker/session/coordinator-socket.ts");
  const { url: apiUrl, key: apiKey = "" } = loginOf(context.env);
  const socket = openSocket({ apiUrl, apiKey }, "/live", MAX_FRAME_BYTES);
  // What cannot be read now is read with the next ping.
  const followConfig = () => void follow(context, watch, given).catch(() => undefined);
  socket.once("open", () => {
    context.output.say(`Watches ${apiUrl}.`);
    followConfig();
  });
  const stop = (): void => socket.terminate();
  context.signal.addEventListener("abort", stop);
  let isAlive = true;
  const pinging = setInterval(() => {
    if (!isAlive) return stop();
    isAlive = false;
    socket.send("ping");
    followConfig();
  }, PING_EVERY_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () => resolve());
      socket.on("message", (data) => {
        isAlive = true;
        const text = String(data);
        if (text === "pong") return;
        try {
          const messages = [JSON.parse(text)].flat() as NumberedLiveMessage[];
          for (const message of messages) watch.take(message, performance.now());
        } catch {
          reject(new Failure(`${apiUrl} does not answer as Signalbox does`));
          stop();
        }
      });
    });
  } finally {
    clearInterval(pinging);
    context.signal.removeEventListener("abort", stop);
  }
};

/** Again and again: after a lost connection the next begins with a snapshot. */
const watchOn = async (context: Context, watch: Watch, given: Times): Promise<void> => {
  for (let failures = 0; !context.signal.aborted; failures += 1) {
    const startedAt = performance.now();
    const trouble = await watchOnce(context, watch, given).then(
      () => "the connection ended",
      ({ message }: Error) => message,
    );
    if (context.signal.aborted) return;
    if (REFUSED.test(trouble)) throw new Failure("the key may not watch: this needs a key with role viewer");
    if (performance.now() - startedAt > PING_EVERY_MS) failures = 0;
    context.output.say(`${trouble}: connecting again`);
    await delay(backoffMs(failures + 1, Math.random()), undefined, { signal: context.signal });
  }
};

const msOf = (given: number | undefined, flag: string): number | null => {
  if (given === undefined) return null;
  if (given < 0) throw new UsageError(`--${flag} takes a number of seconds`);
  return given * 1000;
};

export const wakeCommand: Verb = {
  name: "wake",
  says: "Wakes machines, or runs a command, when work waits for them; goes on until it is stopped",
  examples: [
    "wake --tag gpu --mac aa:bb:cc:dd:ee:ff --broadcast 192.168.1.255",
    "wake --tag gpu --run ./start.sh --idle ./stop.sh",
  ],
  flags: {
    tag: { takes: "tag", says: "only for jobs that ask for it, and workers that offer it", isRepeated: true },
    mac: { takes: "address", says: "the network card of a machine to wake (Wake-on-LAN)", isRepeated: true },
    broadcast: { takes: "address", says: "the network that it is in (255.255.255.255), with a port if it is not 9" },
    run: { takes: "command", says: "a command for the shell, when jobs wait and no worker may have them" },
    idle: { takes: "command", says: "a command for the shell, when a worker has been without work for long enough" },
    after: { takes: "seconds", says: "how long jobs wait before (capacity.after_seconds of the config)" },
    "idle-after": { takes: "seconds", says: "how long a worker is without work before (capacity.idle_seconds)" },
  },
  run: async (context, input) => {
    const macs = input.texts("mac").map(macOf);
    const broadcast = broadcastOf(input.text("broadcast"));
    const [run, idle] = [input.text("run"), input.text("idle")];
    if (macs.length === 0 && run === undefined && idle === undefined)
      throw new UsageError("give --mac, --run or --idle: what to do when work waits, or is over");
    const given = {
      afterMs: msOf(input.number("after"), "after"),
      idleMs: msOf(input.number("idle-after"), "idle-after"),
    };
    const watch = new Watch({
      tags: input.texts("tag"),
      afterMs: given.afterMs ?? USUAL.afterMs,
      idleMs: given.idleMs ?? USUAL.idleMs,
    });
    const commands = new Commands(context);
    const act = async (happened: CapacityEvent): Promise<void> => {
      const command = happened.event === "capacity.idle" ? idle : run;
      if (command === undefined && (happened.event === "capacity.idle" || macs.length === 0)) return;
      context.output.line(happened, `${happened.event} ${JSON.stringify(happened.data)}`);
      if (command !== undefined) commands.run(command, happened);
      if (happened.event === "capacity.idle") return;
      for (const mac of macs)
        await sendMagicPacket(mac, broadcast).catch(({ message }: Error) => context.output.say(message));
    };
    const looking = setInterval(() => {
      for (const happened of watch.due(performance.now())) void act(happened);
    }, LOOK_EVERY_MS);
    await watchOn(context, watch, given).finally(() => clearInterval(looking));
    return context.signal.aborted ? INTERRUPTED : undefined;
  },
};

const INTERRUPTED = 130;
