// Mode `lines`: one kept process for each place, for programs that load a model.

import { startOf } from "../../contract/text/start-of.ts";
import {
  failed,
  type JobTask,
  type Outcome,
  probedOutcome,
  type RunOptions,
  type Runtime,
  type RuntimeState,
} from "../calls/runtime.ts";
import { factsOf } from "../job-facts.ts";
import { Answer } from "./answer.ts";
import { missing } from "./command.ts";
import { failureOf } from "./ending.ts";
import { inFolder, neverReached } from "./in-folder.ts";
import { MAX_MESSAGE_CHARS } from "./instruction.ts";
import type { ExecOptions } from "./options.ts";
import { Place } from "./place.ts";

export const createLineCommand = (exec: ExecOptions): Runtime => {
  const places = Array.from({ length: exec.concurrency }, () => new Place(exec));
  const probe = async (): Promise<RuntimeState> => {
    const absent = missing(exec.command, exec.env);
    const unavailable = absent ?? (await whyNone(places));
    return { unavailable, apis: exec.apis, models: null };
  };
  return {
    name: "exec",
    address: null,
    probeEveryMs: 0,
    probe,
    run: async ({ job, ...task }, options) => {
      if (job === null) return probedOutcome({ probe });
      const place = places.find(({ isTaken }) => !isTaken);
      if (place === undefined) throw new Error("more jobs than places");
      place.isTaken = true;
      try {
        return await runOn(place, exec, { ...task, job }, options);
      } finally {
        place.isTaken = false;
      }
    },
    close: async () => {
      await Promise.all(places.map((place) => place.close()));
    },
  };
};

/** Null if a place can work: the processes start with the worker, so that a model is loaded before its first job. */
const whyNone = async (places: readonly Place[]): Promise<string | null> => {
  const found = await Promise.all(places.map((place) => place.ready()));
  const reason = found.find((one) => typeof one === "string");
  return found.some((one) => typeof one !== "string") ? null : (reason ?? null);
};

const runOn = async (place: Place, exec: ExecOptions, task: JobTask, options: RunOptions): Promise<Outcome> => {
  const { signal } = options;
  const kept = await place.ready();
  if (typeof kept === "string") return neverReached("command_unavailable", kept);
  signal.throwIfAborted();
  const facts = factsOf(task, exec.offeredModels);
  return inFolder(exec, task, signal, {
    prepare: (_folder, files) => ({ ...facts, files }),
    run: async (_folder, given) => {
      const open = (name: string) => kept.folder.output(name);
      const answer = new Answer({ task, options, files: exec.files, empty: "", model: facts.model, open });
      if (await kept.work(given, answer, signal)) {
        place.succeeded();
        return answer.outcome();
      }
      if (answer.failure !== null) return answer.outcome();
      const ended = await kept.gone;
      const message = startOf(kept.explain(ended), MAX_MESSAGE_CHARS);
      const code = failureOf(ended, "")?.code ?? "exit_0";
      return failed({ code, message, retryable: true }, answer.spent);
    },
  });
};
