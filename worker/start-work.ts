// A worker at work: one runtime behind the loop, connected to its coordinator until it drains. The worker process and
// `serve()` are both this.

import type { Runtime } from "./calls/runtime.ts";
import { watchConfig } from "./config.ts";
import { keepConnected } from "./connection.ts";
import { fileOpener } from "./job-files.ts";
import { inputLoader } from "./load-input.ts";
import { Loop } from "./loop.ts";
import type { Machine } from "./models/machine.ts";
import { type OpeningSettings, openDoors } from "./openings/open-doors.ts";
import type { WorkerIdentity } from "./presence.ts";
import { RuntimeWatch } from "./runtime-watch.ts";
import { openHttpSession } from "./session/http-session.ts";
import type { CoordinatorMessage } from "./session/session.ts";
import { openSocketSession } from "./session/socket-session.ts";
import { resultStore } from "./store-result.ts";
import { openStreams } from "./streams/open-streams.ts";

type WorkOptions = {
  apiUrl: string;
  apiKey: string;
  configUrl: string;
  identity: WorkerIdentity;
  runtime: Runtime;
  log: (line: string) => void;
  /** When it takes jobs; absent: always. */
  opening?: OpeningSettings;
  /** What is told of the machine; absent: nothing. */
  machine?: Machine;
  /** Called with each message of the coordinator, before the loop acts on it. */
  onMessage?: (message: CoordinatorMessage) => void;
};

export type Work = {
  /** Takes no more jobs, lets running ones end within the time, gives back the rest, and ends. */
  drain: (graceMs: number) => Promise<void>;
  /** The runtime's state is worth a look now. */
  look: () => void;
  /** Why the coordinator refused this worker, or null after a drain. */
  ended: Promise<string | null>;
};

export const startWork = async (options: WorkOptions): Promise<Work> => {
  const { apiUrl, apiKey, configUrl, identity, runtime, log, onMessage = () => {} } = options;
  const stop = new AbortController();
  let refusal: string | null = null;
  const onRefused = (reason: string) => {
    refusal ??= reason;
    stop.abort();
  };
  const config = watchConfig({ configUrl, apiUrl, apiKey, runtime: runtime.name, log });
  const line = { apiUrl, apiKey, instance: identity.instance };
  const doors = openDoors(options.opening, () => loop.heldJobIds.length > 0);
  const watch = new RuntimeWatch({ runtime, log, gate: doors.gate });
  const streams = openStreams(line, log);
  const transfers = { loadInput: inputLoader(line), storeResult: resultStore(line), openFile: fileOpener(line) };
  await Promise.all([config.refresh(), watch.look(), options.machine?.look()]);
  const loop = new Loop({
    identity,
    runtime,
    watch,
    streams,
    transfers,
    config,
    log,
    ...(options.machine === undefined ? {} : { machine: options.machine }),
    drainsNow: options.opening?.drainsNow ?? false,
    onRefused,
  });
  doors.watch(() => void watch.look());
  const heard = {
    attach: loop.attach.bind(loop),
    detach: loop.detach.bind(loop),
    freeSlots: loop.freeSlots.bind(loop),
    receive: (message: CoordinatorMessage) => {
      onMessage(message);
      loop.receive(message);
    },
  };
  const connected = keepConnected({
    loop: heard,
    log,
    stop: stop.signal,
    openSocket: (host) => openSocketSession(line, host),
    openHttp: async (host) => {
      const opened = await openHttpSession(line, host);
      if (opened.ok) streams.goOverHttp();
      return opened;
    },
  });
  const ended = connected.then(async (reason) => {
    watch.stop();
    doors.close();
    streams.close();
    await runtime.close?.();
    return refusal ?? reason;
  });
  let draining: Promise<void> | null = null;
  const drain = async (graceMs: number) => {
    await loop.drain(graceMs);
    streams.close();
    stop.abort();
    await ended;
  };
  return {
    drain: (graceMs) => {
      draining ??= drain(graceMs);
      return draining;
    },
    look: () => void watch.look(),
    ended,
  };
};
